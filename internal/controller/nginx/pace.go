package nginx

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/rollout"
)

// What instances do emits no event, so they are asked again: often at first, and less
// and less as long as nothing moves.
const (
	paceFirst = 40 * time.Millisecond
	paceMost  = 15 * time.Second
	// paceRejected is how often pods that refused a configuration are asked whether
	// they have changed their mind.
	paceRejected = 10 * time.Second
	// paceVolumes is how often pods are asked about their certificates, and about the volumes
	// that nginx is reloaded for.
	paceVolumes = time.Minute
)

// paceTrial is how often canaries are compared with the others, at most: each time all pods
// are asked for their requests.
const paceTrial = 2 * time.Second

// After pods were asked for something, also if only for their mounted files, they are
// looked at for a while: what comes of it emits no event.
const (
	paceStirred = 500 * time.Millisecond
	stirredFor  = 5 * time.Second
)

// patience is how long pods have for what they are asked before they are nudged; then
// twice as long, and so on. The kubelet mostly needs half of it.
const patience = 600 * time.Millisecond

// pace tells when to look at an application again, and when pods are overdue. It is
// forgotten with the process, which then looks often again.
type pace struct {
	mu    sync.Mutex
	steps map[types.NamespacedName]step
	// stirred tells until when pods may be busy with what they were asked.
	stirred map[types.NamespacedName]time.Time
}

// step is where an application stands, how long to wait for the next look, and since
// when and until when pods may take their time.
type step struct {
	mark     string
	wait     time.Duration
	since    time.Time
	patience time.Duration
}

// next is how long to wait before the next look; 0: until an event. asked tells that
// pods have just been asked for something.
func (p *pace) next(key types.NamespacedName, d rollout.Decision, asked, volumes bool, now time.Time) time.Duration {
	stirred := p.stir(key, asked, now)
	switch {
	case d.OnProbation:
		p.arrive(key)
		return paceStirred
	case d.Watch:
		wait := p.grow(key, fmt.Sprint(d.Phase, d.Accepted, d.Serving, d.Pods, len(d.Ask), len(d.Judge)), now)
		if len(d.Judge) > 0 {
			return max(wait, paceTrial)
		}
		return wait
	case d.Phase == rollout.Rejected:
		p.arrive(key)
		return paceRejected
	}
	p.arrive(key)
	switch {
	case stirred:
		return paceStirred
	case volumes:
		return paceVolumes
	}
	return 0
}

// stir tells whether pods were asked for something a short while ago.
func (p *pace) stir(key types.NamespacedName, asked bool, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked {
		if p.stirred == nil {
			p.stirred = map[types.NamespacedName]time.Time{}
		}
		p.stirred[key] = now.Add(stirredFor)
	}
	if now.Before(p.stirred[key]) {
		return true
	}
	delete(p.stirred, key)
	return false
}

// grow waits longer each time that the mark is the same.
func (p *pace) grow(key types.NamespacedName, mark string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.steps[key]
	if !ok || s.mark != mark {
		s = step{mark: mark, wait: paceFirst, since: now, patience: patience}
	} else {
		s.wait = min(s.wait+s.wait/8, paceMost)
	}
	if p.steps == nil {
		p.steps = map[types.NamespacedName]step{}
	}
	p.steps[key] = s
	return s.wait
}

// overdue tells whether pods have had their time, once for each of the growing spans.
func (p *pace) overdue(key types.NamespacedName, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.steps[key]
	if !ok || now.Sub(s.since) < s.patience {
		return false
	}
	s.patience *= 2
	p.steps[key] = s
	return true
}

// arrive ends a step: the next one is looked at often again.
func (p *pace) arrive(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.steps, key)
}

// forget drops all that is known of an application.
func (p *pace) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.steps, key)
	delete(p.stirred, key)
}
