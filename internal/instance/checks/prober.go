package checks

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// Interval at which spec.checks are repeated for readiness, and how many must fail in a row, as for a Kubernetes probe.
const (
	period    = 10 * time.Second
	retry     = time.Second
	threshold = 3
)

// Set is a number of requests that are repeated together.
type Set struct {
	requests []request
	// notYet is why a pod is not ready before they have passed once.
	notYet string
	// period is the time between two runs, and after a failure of a ready pod it is again.
	period, again time.Duration
	// threshold is how many runs in a row must fail until the pod is not ready.
	threshold int
}

// Of returns spec.checks.
func Of(declared instanceapi.Checks) Set {
	s := Set{notYet: "spec.checks have not passed yet", period: period, again: retry, threshold: threshold}
	for i, check := range declared.Checks {
		s.requests = append(s.requests, request{check, fmt.Sprintf("%s%d]", instanceapi.CheckMessagePrefix, i)})
	}
	return s
}

// ForReadiness returns spec.readiness.
func ForReadiness(declared instanceapi.Checks) Set {
	r := declared.Readiness
	if r == nil {
		return Set{}
	}
	period := time.Duration(max(1, r.PeriodSeconds)) * time.Second
	return Set{
		requests: []request{{r.Check, instanceapi.ReadinessMessagePrefix}},
		notYet:   "spec.readiness has not passed yet",
		period:   period, again: period, threshold: int(max(1, r.FailureThreshold)),
	}
}

// Prober repeats requests to the served configuration for readiness. The zero value has none.
type Prober struct {
	// Answered is called with the status of each response. It may be nil.
	Answered func(status int)

	mu       sync.Mutex
	revision string
	set      Set
	// failing is why the pod is not ready, or "" if it is ready.
	failing string
	// failures is the number of failures in a row.
	failures int
	// pending is true until the checks have run once.
	pending bool
	// changed is closed when SetChecks replaces the requests. It is nil if no goroutine waits for that.
	changed chan struct{}
}

// SetChecks starts to repeat the requests of a revision. passed is true if they have just passed; otherwise the pod is not
// ready until they pass. SetChecks does nothing if the revision is the same.
func (p *Prober) SetChecks(revision string, set Set, passed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revision == revision {
		return
	}
	p.revision, p.set, p.failures, p.failing = revision, set, 0, ""
	if p.pending = len(set.requests) > 0 && !passed; p.pending {
		p.failing = set.notYet
	}
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Passing reports whether a configuration is served whose requests do not keep the pod from being ready.
func (p *Prober) Passing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.revision != "" && p.failing == ""
}

// Failures sends all requests at the same time and returns the problems of the responses, in the order of the requests.
func (p *Prober) Failures(ctx context.Context, set Set) []instanceapi.Problem {
	return client{p.Answered}.failures(ctx, set.requests)
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
	case len(p.set.requests) == 0:
		return p.changed, time.Hour
	case p.pending:
		return p.changed, 0
	case p.failing != "":
		return p.changed, retry
	case p.failures > 0:
		return p.changed, p.set.again
	default:
		return p.changed, p.set.period
	}
}

func (p *Prober) probe(ctx context.Context) {
	p.mu.Lock()
	revision, set, ready := p.revision, p.set, p.failing == ""
	p.pending = false
	p.mu.Unlock()
	if len(set.requests) == 0 {
		return
	}
	found := p.Failures(ctx, set)
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
	if p.failures >= set.threshold || !ready {
		p.failing = found[0].Message
	}
	if p.failures == set.threshold {
		slog.Warn("the pod is not ready: checks fail", "problems", found)
	}
}
