package rollout

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// FollowPatience is how long the first pod that follows without an order has to stay ready before the others may
// follow. A kubelet needs up to two minutes to bring it the changed ConfigMap.
const FollowPatience = 3 * time.Minute

// maxFirstFollowers bounds how many pods may restart or lose their readiness after they were the first to follow. One may
// do so because of its node. After several, the revision is the likely reason, and the others do not follow.
const maxFirstFollowers = 3

// follow decides which revision pods that the operator cannot reach may load without an order. A pod tests it before.
//
// If other pods have served the revision, all may. If no pod is reachable, one may first, and the others once it has
// stayed ready, which is all that the kubelet reports. Without a change in progress, nothing is decided, so that a broken
// network causes no writes.
func (d *Decision) follow(in Input) {
	d.Follow = in.Following
	switch live := in.Following; {
	case in.leavesFollowers(d.Phase):
	case d.Phase == Rejected:
		d.Follow = in.followBack()
	case d.Phase != Settled && in.Stable != in.Requested && !slices.ContainsFunc(in.Pods, isSilent):
		// Every pod gets orders. Another client may have written what is there, so that pods skip the canary.
		d.Follow = nil
	case live != nil && live.Revision == in.Requested:
		d.Follow = d.widened(in, *live)
	case in.Stable == in.Requested && live != nil:
		// Pods may have followed what is no longer requested.
		d.Follow = in.newFollow(in.Requested)
	default:
		d.Follow = d.firstFollow(in)
	}
	d.describeFollowers(in)
}

// leavesFollowers reports whether nothing is decided for pods that follow.
func (in *Input) leavesFollowers(phase Phase) bool {
	return in.Held || in.HoldOld || in.Requested == "" || in.stays() && phase != Rejected
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

// firstFollower returns the UID of the pod that follows first if no pod can be reached, and that is not one of the others;
// empty if there is none, or if a pod can be reached.
func (in *Input) firstFollower(others ...string) string {
	first := ""
	for _, p := range in.Pods {
		switch {
		case (p.Ready || p.Status != nil) && !p.Unreachable:
			return ""
		case first == "" && p.Unreachable && p.Ready && !slices.Contains(others, p.UID):
			first = p.UID
		}
	}
	return first
}

// widened lets all pods follow once other pods have served the revision, or the first one has stayed ready. If the first
// one is gone, has restarted or is not ready, another one becomes the first: the last of the list. The revision may be the
// reason, so only one pod at a time begins to follow, and after maxFirstFollowers no more.
func (d *Decision) widened(in Input, live instanceapi.Follow) *instanceapi.Follow {
	if len(live.Pods) == 0 {
		return &live
	}
	if d.Phase == Settled && !d.OnProbation {
		return in.newFollow(live.Revision)
	}
	state, failed := in.followers(live)
	next := in.firstFollower(failed...)
	switch {
	case state == followerWaitedFor:
	case state == followerStayedReady:
		live.Pods = nil
	case next != "" && len(failed) < maxFirstFollowers:
		return in.newFollow(live.Revision, append(failed, next)...)
	case len(failed) == 0:
		return nil
	}
	return &live
}

// followerState is what became of the pod that follows first.
type followerState int

const (
	// followerLost: it is gone, has restarted or is not ready.
	followerLost followerState = iota
	followerWaitedFor
	followerStayedReady
)

// followers returns what became of the pod that follows first, and the UIDs of the pods that are there and failed as the
// first one. Only the last one can have stayed ready: when the one before it restarted is not known any more.
func (in *Input) followers(live instanceapi.Follow) (state followerState, failed []string) {
	since := time.UnixMilli(live.Number)
	for i, uid := range live.Pods {
		n := slices.IndexFunc(in.Pods, func(p Pod) bool { return p.UID == uid })
		switch {
		case n < 0:
		case i < len(live.Pods)-1:
			failed = append(failed, uid)
		case in.Now.Sub(since) < FollowPatience:
			state = followerWaitedFor
		case in.Pods[n].Ready && in.Pods[n].StartedAt.Before(since):
			state = followerStayedReady
		default:
			failed = append(failed, uid)
		}
	}
	return state, failed
}

// describeFollowers says which pods the others wait for.
func (d *Decision) describeFollowers(in Input) {
	if d.Follow == nil || len(d.Follow.Pods) == 0 || len(in.Pods) == 1 {
		return
	}
	state, failed := in.followers(*d.Follow)
	for _, p := range in.Pods {
		switch {
		case slices.Contains(failed, p.UID):
			d.FailedFollowers = append(d.FailedFollowers, p.Name)
		case state == followerWaitedFor && p.UID == d.Follow.Pods[len(d.Follow.Pods)-1]:
			d.FirstFollower = p.Name
		}
	}
}

func isUnreachable(p Pod) bool { return p.Unreachable }

func isSilent(p Pod) bool { return p.Unreachable || p.Status == nil }
