// Package plan decides which backups should exist, from the policies, the applications and the
// existing backups. It is pure and level-based: it decides from scratch each time, so it recovers
// from any interruption.
//
// At most one backup of each policy and target is under way. Changes in the meantime wait and are
// part of the next one, so a store that is down for a day costs one backup, not hundreds. The name of
// a backup is derived from the inputs of the decision: the same decision, after a crash or by a
// second leader, leads to the same object.
package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// Target is an application, with its state and the time since when it has had it.
type Target struct {
	Nginx *v1alpha2.NginxOperator
	UID   types.UID
	State snapshot.Fingerprint
	// Since is when State was first observed. Unsettled is when the first change was observed that
	// no backup holds, or zero if there is none.
	Since, Unsettled time.Time
}

// Decision is what to do for one policy and target.
type Decision struct {
	// Create is a backup that is due, or nil.
	Create *v1alpha1.NginxBackup
	// Expired holds the backups that retention deletes, with their data.
	Expired []*v1alpha1.NginxBackup
	// Obsolete holds the backups that were never completed and that the policy would not create
	// like that any more.
	Obsolete []*v1alpha1.NginxBackup
	// Pending reports whether a backup is due but has to wait.
	Pending bool
	// Settled reports whether the last backup, or the one to create, holds the present state of the
	// target.
	Settled bool
	// Gate is the gate of the policy, or empty. GateState is its state.
	Gate      string
	GateState GateState
	// After is the time until the next check if nothing changes, or 0 if none is needed.
	After time.Duration
}

// Decide decides what to do for a policy and a target. backups holds the backups of both, in any
// order.
func Decide(policy *v1alpha1.NginxBackupPolicy, schedule *Schedule, target Target, backups []*v1alpha1.NginxBackup, now time.Time) Decision {
	d := Decision{
		Expired: Expired(policy.Spec.Retention, backups, now),
		After:   nextExpiry(policy.Spec.Retention, backups, now),
	}
	underway := false
	for _, b := range backups {
		switch {
		case b.DeletionTimestamp != nil || Written(b):
		case !wanted(policy, b) || superseded(target, b) || missed(target, b):
			d.Obsolete = append(d.Obsolete, b)
		default:
			underway = true
		}
	}
	due := dueOf(policy, schedule, target, backups, now)
	d.Gate, d.GateState = GateOf(policy), GateStateOf(policy, target, backups)
	if d.GateState == Awaited {
		due = beforeRollout(target.Nginx.Status.WaitingRollout, due.after)
	}
	d.After = Soonest(d.After, due.after)
	d.Settled = !Behind(policy, target, backups)
	switch {
	case due.trigger == "":
	case underway:
		d.Pending = true
	default:
		d.Create = newBackup(policy, target, due, latest(backups), now)
		d.Settled = d.Settled || due.trigger != v1alpha1.TriggerBeforeRollout
	}
	return d
}

// Soonest returns the shorter of two waits. 0 means no wait.
func Soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
