// Package plan decides which backups should exist: from the policies, the applications and
// the backups that there are. It is pure, and looks at everything again each time, so it
// goes on from wherever anything was lost.
//
// Of each policy and target at most one backup is under way. While one is, whatever changes
// waits, and is in the next one; so a store that is down for a day costs one backup, not
// hundreds. A backup's name follows from what it was decided from: who decides the same
// again, after a crash or beside another leader, creates the same object.
package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// Target is an application, and how long it has been as it is.
type Target struct {
	Nginx *v1alpha2.NginxOperator
	UID   types.UID
	State snapshot.State
	// Since is when State was seen first, Restless when the first change was seen that no
	// backup holds; zero: not yet.
	Since, Restless time.Time
}

// Decision is what to do about one policy and target.
type Decision struct {
	// Create is a backup that is due.
	Create *v1alpha1.NginxBackup
	// Expired are the backups that retention lets go, with their data.
	Expired []*v1alpha1.NginxBackup
	// Obsolete are backups that were never completed and that the policy would not make so
	// any more.
	Obsolete []*v1alpha1.NginxBackup
	// Pending tells that a backup is due which has to wait.
	Pending bool
	// AtRest tells that the last backup, or the one to create, holds the target as it is.
	AtRest bool
	// Gate is the policy's; empty: it has none. Passage is what becomes of it.
	Gate    string
	Passage Passage
	// After is when to look again although nothing has changed; 0: never.
	After time.Duration
}

// Decide decides about a policy and a target. backups are those of both, in any order.
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
	d.Gate, d.Passage = GateOf(policy), PassageOf(policy, target, backups)
	if d.Passage == Awaited {
		due = beforeRollout(target.Nginx.Status.WaitingRollout, due.after)
	}
	d.After = Soonest(d.After, due.after)
	d.AtRest = !Behind(policy, target, backups)
	switch {
	case due.trigger == "":
	case underway:
		d.Pending = true
	default:
		d.Create = newBackup(policy, target, due, latest(backups), now)
		d.AtRest = d.AtRest || due.trigger != v1alpha1.TriggerBeforeRollout
	}
	return d
}

// Soonest is the shorter of two waits, of which 0 is none.
func Soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
