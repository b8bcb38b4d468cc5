package plan

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// Passage is what becomes of a gate.
type Passage string

// The values of Passage.
const (
	// Untouched: nothing waits at the gate, and something may be passing it.
	Untouched Passage = ""
	// Awaited: a rollout waits for a backup.
	Awaited Passage = "Awaited"
	// Granted: the backup is there.
	Granted Passage = "Granted"
	// Over: nothing waits, and nothing is rolled out. What was granted has had its time: the same
	// revision can be asked for again, much later.
	Over Passage = "Over"
)

// PassageOf is what becomes of a policy's gate as far as it is concerned.
func PassageOf(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) Passage {
	w := awaited(policy, target.Nginx)
	switch {
	case w != nil && backedUp(policy, target, w, backups):
		return Granted
	case w != nil:
		return Awaited
	case Ended(target.Nginx):
		return Over
	}
	return Untouched
}

// Ended tells whether the last rollout of an application has succeeded, or is given up, and no
// other one waits.
func Ended(nginx *v1alpha2.NginxOperator) bool {
	c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	if c == nil || !Told(nginx) || nginx.Status.WaitingRollout != nil {
		return false
	}
	return c.Status == metav1.ConditionTrue || c.Reason == v1alpha2.ReasonRolledBack || c.Reason == v1alpha2.ReasonRolloutHeld
}

// Told tells whether the status of an application speaks of its present spec.
func Told(nginx *v1alpha2.NginxOperator) bool {
	return nginx.Status.ObservedGeneration >= nginx.Generation
}

// GateNotDeclared is the gate at which rollouts of a target would have to wait for the policy,
// and do not; empty: they do, or the policy takes no backups before rollouts.
func GateNotDeclared(policy *v1alpha1.NginxBackupPolicy, target Target) string {
	gate := GateOf(policy)
	if r := target.Nginx.Spec.Rollout; r != nil && slices.Contains(r.Gates, gate) {
		return ""
	}
	return gate
}

// HoldsBack tells whether a rollout of a target waits for a backup of the policy.
func HoldsBack(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) bool {
	return PassageOf(policy, target, backups) == Awaited
}

// GateOf is the gate that a policy opens; empty: none.
func GateOf(policy *v1alpha1.NginxBackupPolicy) string {
	if t := policy.Spec.Triggers.BeforeRollout; t != nil {
		return cmp.Or(t.Gate, v1alpha1.DefaultGate)
	}
	return ""
}

// awaited is the rollout that waits at the gate of a policy; nil: none does, or the status does
// not speak of the present spec yet.
func awaited(policy *v1alpha1.NginxBackupPolicy, nginx *v1alpha2.NginxOperator) *v1alpha2.WaitingRollout {
	w := nginx.Status.WaitingRollout
	if w == nil || !Told(nginx) || !slices.Contains(w.Gates, GateOf(policy)) {
		return nil
	}
	return w
}

// backedUp tells whether there is a good backup from before a rollout: one that was made for it,
// or one of the target as it is, of which nothing was recorded before it came to wait.
func backedUp(policy *v1alpha1.NginxBackupPolicy, target Target, w *v1alpha2.WaitingRollout, backups []*v1alpha1.NginxBackup) bool {
	return slices.ContainsFunc(backups, func(b *v1alpha1.NginxBackup) bool {
		if !Good(b) || b.DeletionTimestamp != nil || !wanted(policy, b) {
			return false
		}
		start := b.Status.StartTime
		return madeFor(b, w) || start != nil && !start.Before(&w.Since) && Held(b) == target.State
	})
}

// madeFor tells whether a backup was made for a rollout, when it waited this time: the same
// revision can be asked for again.
func madeFor(b *v1alpha1.NginxBackup, w *v1alpha2.WaitingRollout) bool {
	return w != nil && b.Annotations[v1alpha1.AnnotationRollout] == w.Revision && b.Annotations[v1alpha1.AnnotationWaitingSince] == since(w)
}

// missed tells of a backup that was to be taken before a rollout which does not wait any more:
// as long as nothing is recorded, it would hold another state than that from before.
func missed(target Target, b *v1alpha1.NginxBackup) bool {
	return b.Spec.Trigger == v1alpha1.TriggerBeforeRollout && b.Status.StartTime == nil && !madeFor(b, target.Nginx.Status.WaitingRollout)
}

func since(w *v1alpha2.WaitingRollout) string { return w.Since.UTC().Format(time.RFC3339) }
