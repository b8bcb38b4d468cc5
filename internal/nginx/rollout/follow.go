package rollout

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// followPatience is how long the first pod that follows without an order has to stay ready before the others may
// follow. A kubelet needs up to two minutes to bring it the changed ConfigMap.
const followPatience = 3 * time.Minute

// follow decides which revision pods that the operator cannot reach may load without an order. A pod tests it before.
//
// If other pods have served the revision, all may. If no pod is reachable, one may first, and the others once it has
// stayed ready: the kubelet's word is all there is. Without a change in progress, nothing is decided, so that a broken
// network causes no writes.
func (d *Decision) follow(in Input) {
	d.Follow = in.Following
	switch live := in.Following; {
	case in.Held || in.HoldOld || in.Requested == "":
	case d.Phase == Rejected:
		d.Follow = in.followBack()
	case live != nil && live.Revision == in.Requested:
		d.Follow = d.widened(in, *live)
	case in.Stable == in.Requested && live != nil:
		// Pods may have followed what is no longer requested.
		d.Follow = in.newFollow(in.Requested)
	default:
		d.Follow = d.firstFollow(in)
	}
}

// firstFollow lets pods begin to follow a change; nil: there is none, or not yet.
func (d *Decision) firstFollow(in Input) *instanceapi.Follow {
	switch {
	case in.Stable == "":
		return nil
	case in.Stable == in.Requested:
		return d.followStable(in)
	case d.Phase == Settled && !d.OnProbation && slices.ContainsFunc(in.Pods, isUnreachable):
		return in.newFollow(in.Requested)
	case d.Phase == Testing && in.firstFollower() != "":
		return in.newFollow(in.Requested, in.firstFollower())
	}
	return nil
}

// followStable lets pods follow that take no orders, and report that they do not serve what the others do: the operator
// may have ended before it let them follow the change, or it was changed back. What silent pods serve is not known.
func (d *Decision) followStable(in Input) *instanceapi.Follow {
	lagging := func(p Pod) bool { return p.Unreachable && p.servesUnrequested(in.Requested) }
	if d.Phase == Settled && slices.ContainsFunc(in.Pods, lagging) {
		return in.newFollow(in.Requested)
	}
	return nil
}

func (in *Input) newFollow(revision string, pods ...string) *instanceapi.Follow {
	return &instanceapi.Follow{Revision: revision, Number: in.Now.UnixMilli(), Pods: pods}
}

// followBack lets pods that may have loaded a refused revision load stable again.
func (in *Input) followBack() *instanceapi.Follow {
	switch live := in.Following; {
	case live == nil || in.Stable == "" || in.Stable == in.Requested:
		return nil
	case live.Revision == in.Requested:
		return in.newFollow(in.Stable)
	case live.Revision == in.Stable:
		return live
	}
	return nil
}

// firstFollower returns the UID of the pod that follows first if no pod can be reached; empty if one can.
func (in *Input) firstFollower() string {
	first := ""
	for _, p := range in.Pods {
		switch {
		case (p.Ready || p.Status != nil) && !p.Unreachable:
			return ""
		case first == "" && p.Unreachable && p.Ready:
			first = p.UID
		}
	}
	return first
}

// widened lets all pods follow once other pods have served the revision, or the first one has stayed ready. If the first
// one is gone, another one is the first. One that restarted or is not ready holds the others back: the revision may be
// the reason.
func (d *Decision) widened(in Input, live instanceapi.Follow) *instanceapi.Follow {
	if len(live.Pods) == 0 {
		return &live
	}
	since := time.UnixMilli(live.Number)
	i := slices.IndexFunc(in.Pods, func(p Pod) bool { return slices.Contains(live.Pods, p.UID) })
	switch {
	case d.Phase == Settled && !d.OnProbation:
		return in.newFollow(live.Revision)
	case i < 0 && in.firstFollower() != "":
		return in.newFollow(live.Revision, in.firstFollower())
	case i < 0:
		return nil
	case in.Pods[i].Ready && in.Pods[i].StartedAt.Before(since) && in.Now.Sub(since) >= followPatience:
		live.Pods = nil
	}
	return &live
}

func isUnreachable(p Pod) bool { return p.Unreachable }
