package pipeline

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/nginx/rollout"
)

// Instances emit no events, so the operator queries them again: often at first, and less often as long as nothing
// changes.
const (
	backoffFirst = 40 * time.Millisecond
	backoffMost  = 15 * time.Second
	// backoffRejected is how often the operator queries pods that refused a configuration, in case a repeated test
	// succeeds.
	backoffRejected = 10 * time.Second
	// volumesPollInterval is how often the operator queries pods about their certificates, and about the volumes that
	// nginx reloads for.
	volumesPollInterval = time.Minute
)

// backoffCanary is the minimum time between two comparisons of canaries: each queries all pods.
const backoffCanary = 2 * time.Second

// After a request to pods, even if only to sync their volumes, the operator queries them for a while: the result
// emits no event.
const (
	backoffAfterRequest = 500 * time.Millisecond
	recentFor           = 5 * time.Second
)

// backoffInFlight is the minimum wait while orders are in flight: their answers queue the application.
const backoffInFlight = 500 * time.Millisecond

// backoffPostponed is the maximum wait while orders wait for others to end: no event reports that.
const backoffPostponed = 5 * time.Second

// requeueBackoff decides when to reconcile an application again. It is lost with the process; the next one starts with
// short intervals.
type requeueBackoff struct {
	mu    sync.Mutex
	steps map[types.NamespacedName]step
	// requestedUntil is until when pods may be busy with a request.
	requestedUntil map[types.NamespacedName]time.Time
}

// step is the progress of an application, and the time until the next pass.
type step struct {
	mark string
	wait time.Duration
}

// activity is what an application waits for, besides what was decided.
type activity struct {
	// annotated reports whether this pass wrote annotations of pods, inFlight whether orders have not been answered,
	// postponed whether some have not been sent, and volumes whether nginx reloads when mounted volumes change.
	annotated, inFlight, postponed, volumes bool
}

// next returns how long to wait before the next pass; 0 means until an event.
func (p *requeueBackoff) next(key types.NamespacedName, d rollout.Decision, a activity, now time.Time) time.Duration {
	wait := p.wait(key, d, a, now)
	if a.postponed {
		return rollout.Soonest(wait, min(backoffPostponed, max(backoffInFlight, p.current(key))))
	}
	if a.inFlight {
		// Without an answer, nothing else queues the application.
		return rollout.Soonest(wait, max(backoffInFlight, p.current(key)))
	}
	return wait
}

// current returns the wait of the step that an application is in.
func (p *requeueBackoff) current(key types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps[key].wait
}

func (p *requeueBackoff) wait(key types.NamespacedName, d rollout.Decision, a activity, now time.Time) time.Duration {
	recent := p.recentlyRequested(key, a.annotated, now)
	switch {
	case d.OnProbation:
		p.reset(key)
		return backoffAfterRequest
	case d.Watch:
		wait := p.increase(key, fmt.Sprint(d.Phase, d.Accepted, d.Serving, d.Pods, len(d.Orders), len(d.AnalyzeAgain)))
		switch {
		case len(d.AnalyzeAgain) > 0:
			return max(wait, backoffCanary)
		case a.inFlight || a.postponed:
			return max(wait, backoffInFlight)
		}
		return wait
	case d.Phase == rollout.Rejected:
		p.reset(key)
		return backoffRejected
	}
	p.reset(key)
	switch {
	case recent:
		return backoffAfterRequest
	case a.volumes:
		return volumesPollInterval
	}
	return 0
}

// recentlyRequested reports whether pods received a request a short while ago.
func (p *requeueBackoff) recentlyRequested(key types.NamespacedName, requested bool, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if requested {
		if p.requestedUntil == nil {
			p.requestedUntil = map[types.NamespacedName]time.Time{}
		}
		p.requestedUntil[key] = now.Add(recentFor)
	}
	if now.Before(p.requestedUntil[key]) {
		return true
	}
	delete(p.requestedUntil, key)
	return false
}

// increase returns a longer wait each time that the mark is the same.
func (p *requeueBackoff) increase(key types.NamespacedName, mark string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.steps[key]
	if !ok || s.mark != mark {
		s = step{mark: mark, wait: backoffFirst}
	} else {
		s.wait = min(s.wait+s.wait/8, backoffMost)
	}
	if p.steps == nil {
		p.steps = map[types.NamespacedName]step{}
	}
	p.steps[key] = s
	return s.wait
}

// reset ends a step, so that the next one starts with short intervals.
func (p *requeueBackoff) reset(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.steps, key)
}

// forget drops everything about an application.
func (p *requeueBackoff) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.steps, key)
	delete(p.requestedUntil, key)
}
