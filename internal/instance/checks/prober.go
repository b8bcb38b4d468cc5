package checks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// How often checks are repeated for readiness, and how many have to fail in a row, as with a
// probe of Kubernetes.
const (
	period    = 10 * time.Second
	retry     = time.Second
	threshold = 3
)

// Prober repeats the checks of what is served, for readiness. The zero value has none.
type Prober struct {
	// Answered is told the status of each answer to a check; nil: nobody is.
	Answered func(status int)

	mu       sync.Mutex
	revision string
	all      []instanceapi.Check
	// failing is why the pod is not ready; empty: it is.
	failing string
	// failures in a row.
	failures int
	// pending tells that they were not asked yet.
	pending bool
	// changed is closed when there are other checks; nil: nobody waits.
	changed chan struct{}
}

// Watch begins with the checks of a revision. passed tells that they have passed a moment ago;
// otherwise they have to pass first. The same revision once more changes nothing.
func (p *Prober) Watch(revision string, all []instanceapi.Check, passed bool) {
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

// Failures asks all at the same time, and returns what is wrong with the answers, in the order of
// the checks.
func (p *Prober) Failures(ctx context.Context, all []instanceapi.Check) []instanceapi.Problem {
	return client{p.Answered}.failures(ctx, all)
}

// Failing is why the pod must not get requests; empty: it may.
func (p *Prober) Failing() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failing
}

// Run repeats the checks until ctx ends.
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

// next is how long to wait, and what ends the wait early.
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
