package checks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// Interval at which checks are repeated for readiness, and how many must fail in a row, as for a Kubernetes probe.
const (
	period    = 10 * time.Second
	retry     = time.Second
	threshold = 3
)

// Prober repeats the checks of the served configuration for readiness. The zero value has no checks.
type Prober struct {
	// Answered is called with the status of each response to a check. It may be nil.
	Answered func(status int)

	mu       sync.Mutex
	revision string
	all      []instanceapi.Check
	// failing is why the pod is not ready, or "" if it is ready.
	failing string
	// failures is the number of failures in a row.
	failures int
	// pending is true until the checks have run once.
	pending bool
	// changed is closed when Watch replaces the checks. It is nil if no goroutine waits for that.
	changed chan struct{}
}

// SetChecks starts to repeat the checks of a revision. passed is true if they have just passed; otherwise the pod is not
// ready until they pass. Watch does nothing if the revision is the same.
func (p *Prober) SetChecks(revision string, all []instanceapi.Check, passed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revision == revision {
		return
	}
	p.revision, p.all, p.failures, p.failing = revision, all, 0, ""
	if p.pending = len(all) > 0 && !passed; p.pending {
		p.failing = "spec.checks have not passed yet"
	}
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Failures sends all requests at the same time and returns the problems of the responses, in the order of the checks.
func (p *Prober) Failures(ctx context.Context, all []instanceapi.Check) []instanceapi.Problem {
	return client{p.Answered}.failures(ctx, all)
}

// NotReadyReason returns why the pod must not receive requests, or "" if it may.
func (p *Prober) NotReadyReason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failing
}

// Run repeats the checks until ctx is done.
func (p *Prober) Run(ctx context.Context) {
	for {
		changed, pause := p.next()
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-changed:
			timer.Stop()
		case <-timer.C:
			p.probe(ctx)
		}
	}
}

// next returns how long to wait before the next run, and a channel that ends the wait early.
func (p *Prober) next() (<-chan struct{}, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = make(chan struct{})
	switch {
	case len(p.all) == 0:
		return p.changed, time.Hour
	case p.pending:
		return p.changed, 0
	case p.failing != "" || p.failures > 0:
		return p.changed, retry
	default:
		return p.changed, period
	}
}

func (p *Prober) probe(ctx context.Context) {
	p.mu.Lock()
	revision, all, ready := p.revision, p.all, p.failing == ""
	p.pending = false
	p.mu.Unlock()
	if len(all) == 0 {
		return
	}
	found := p.Failures(ctx, all)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil || p.revision != revision {
		return
	}
	if len(found) == 0 {
		p.failing, p.failures = "", 0
		return
	}
	p.failures++
	if p.failures >= threshold || !ready {
		p.failing = found[0].Message
	}
	if p.failures == threshold {
		slog.Warn("the pod is not ready: checks fail", "problems", found)
	}
}
