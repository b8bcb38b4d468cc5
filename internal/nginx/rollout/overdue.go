package rollout

import (
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// orderPatience is how long the others wait for a pod that has accepted an order and carries it out. All steps of a load
// are bounded, and take less together.
const orderPatience = 2 * time.Minute

// overdue reports whether the pod has accepted an order to test or load a revision long ago, and has neither carried it out
// nor refused the revision.
func (p Pod) overdue(revision string) bool {
	if p.Status == nil || p.Status.RequestedSeconds == nil || p.verdict(revision) == instanceapi.Failed {
		return false
	}
	open := p.orderedToLoad(revision) && !p.serves(revision) || p.ordered().Test == revision && p.verdict(revision) == ""
	return open && time.Duration(*p.Status.RequestedSeconds)*time.Second >= orderPatience
}

// counts reports whether the others wait for the pod to carry out an order. They do not wait for one that is about to
// restart: it boots from stable.
func (p Pod) counts(revision string) bool {
	return p.Status != nil && !p.Unreachable && !p.overdue(revision) && !p.Status.Draining
}
