package controller

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

// passPatience is how long pods may take for a request before their volumes are synced again; then twice as long, and
// so on. The kubelet usually needs half of it.
const passPatience = 600 * time.Millisecond

// requeueBackoff decides when to reconcile an application again, and when pods are overdue. It is lost with the
// process; the next one starts with short intervals.
type requeueBackoff struct {
	mu    sync.Mutex
	steps map[types.NamespacedName]step
	// requestedUntil is until when pods may be busy with a request.
	requestedUntil map[types.NamespacedName]time.Time
}

// step is the progress of an application, the time until the next pass, and since when and how long pods may take
// their time.
type step struct {
	mark     string
	wait     time.Duration
	since    time.Time
	patience time.Duration
}

// next returns how long to wait before the next pass; 0 means until an event. requested reports whether this pass
// sent pods a request.
func (p *requeueBackoff) next(key types.NamespacedName, d rollout.Decision, requested, volumes bool, now time.Time) time.Duration {
	recent := p.recentlyRequested(key, requested, now)
	switch {
	case d.OnProbation:
		p.reset(key)
		return backoffAfterRequest
	case d.Watch:
		wait := p.increase(key, fmt.Sprint(d.Phase, d.Accepted, d.Serving, d.Pods, len(d.Requested), len(d.AnalyzeAgain)), now)
		if len(d.AnalyzeAgain) > 0 {
			return max(wait, backoffCanary)
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
	case volumes:
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
func (p *requeueBackoff) increase(key types.NamespacedName, mark string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.steps[key]
	if !ok || s.mark != mark {
		s = step{mark: mark, wait: backoffFirst, since: now, patience: passPatience}
	} else {
		s.wait = min(s.wait+s.wait/8, backoffMost)
	}
	if p.steps == nil {
		p.steps = map[types.NamespacedName]step{}
	}
	p.steps[key] = s
	return s.wait
}

// podsOverdue reports whether pods have had their time.
func (p *requeueBackoff) podsOverdue(key types.NamespacedName, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.steps[key]
	return ok && now.Sub(s.since) >= s.patience
}

// extendPatience gives pods that were overdue twice as much time, counted from the same moment.
func (p *requeueBackoff) extendPatience(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.steps[key]; ok {
		s.patience *= 2
		p.steps[key] = s
	}
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
