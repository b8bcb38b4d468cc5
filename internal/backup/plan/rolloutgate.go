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

// GateState is the state of a policy's gate.
type GateState string

// The values of GateState.
const (
	// Untouched: nothing waits at the gate, and a rollout may be passing it.
	Untouched GateState = ""
	// Awaited: a rollout waits for a backup.
	Awaited GateState = "Awaited"
	// GateOpened: the backup exists, and the rollout may pass.
	GateOpened GateState = "Granted"
	// Over: nothing waits, and no rollout is in progress. An opened gate is closed again, because
	// the same revision can be requested again much later.
	Over GateState = "Over"
)

// GateStateOf returns the state of a policy's gate for a target.
func GateStateOf(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) GateState {
	w := awaited(policy, target.Nginx)
	switch {
	case w != nil && hasPreRolloutBackup(policy, target, w, backups):
		return GateOpened
	case w != nil:
		return Awaited
	case Ended(target.Nginx):
		return Over
	}
	return Untouched
}

// Ended reports whether the last rollout of an application has succeeded or was given up, and no
// other one waits.
func Ended(nginx *v1alpha2.NginxOperator) bool {
	c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	if c == nil || !StatusIsCurrent(nginx) || nginx.Status.WaitingRollout != nil {
		return false
	}
	return c.Status == metav1.ConditionTrue || c.Reason == v1alpha2.ReasonRolledBack || c.Reason == v1alpha2.ReasonRolloutHeld
}

// StatusIsCurrent reports whether the status of an application refers to its present spec.
func StatusIsCurrent(nginx *v1alpha2.NginxOperator) bool {
	return nginx.Status.ObservedGeneration >= nginx.Generation
}

// GateNotDeclared returns the gate that a target would have to declare for its rollouts to wait for
// the policy. It is empty if the target declares it, or if the policy takes no backups before
// rollouts.
func GateNotDeclared(policy *v1alpha1.NginxBackupPolicy, target Target) string {
	gate := GateOf(policy)
	if r := target.Nginx.Spec.Rollout; r != nil && slices.Contains(r.Gates, gate) {
		return ""
	}
	return gate
}

// BlocksRollout reports whether a rollout of a target waits for a backup of the policy.
func BlocksRollout(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) bool {
	return GateStateOf(policy, target, backups) == Awaited
}

// GateOf returns the gate that a policy opens, or "" if it opens none.
func GateOf(policy *v1alpha1.NginxBackupPolicy) string {
	if t := policy.Spec.Triggers.BeforeRollout; t != nil {
		return cmp.Or(t.Gate, v1alpha1.DefaultGate)
	}
	return ""
}

// awaited returns the rollout that waits at the gate of a policy. It returns nil if none does, or
// if the status does not refer to the present spec yet.
func awaited(policy *v1alpha1.NginxBackupPolicy, nginx *v1alpha2.NginxOperator) *v1alpha2.WaitingRollout {
	w := nginx.Status.WaitingRollout
	if w == nil || !StatusIsCurrent(nginx) || !slices.Contains(w.Gates, GateOf(policy)) {
		return nil
	}
	return w
}

// hasPreRolloutBackup reports whether there is a good backup from before a rollout: one that was created for
// it, or one of the present state that was started after the rollout began to wait.
func hasPreRolloutBackup(policy *v1alpha1.NginxBackupPolicy, target Target, w *v1alpha2.WaitingRollout, backups []*v1alpha1.NginxBackup) bool {
	return slices.ContainsFunc(backups, func(b *v1alpha1.NginxBackup) bool {
		if !Good(b) || b.DeletionTimestamp != nil || !wanted(policy, b) {
			return false
		}
		start := b.Status.StartTime
		return createdFor(b, w) || start != nil && !start.Before(&w.Since) && BackedUpState(b) == target.State
	})
}

// createdFor reports whether a backup was created for this wait of a rollout. The same revision can
// be requested again, and then waits again.
func createdFor(b *v1alpha1.NginxBackup, w *v1alpha2.WaitingRollout) bool {
	return w != nil && b.Annotations[v1alpha1.AnnotationRollout] == w.Revision && b.Annotations[v1alpha1.AnnotationWaitingSince] == since(w)
}

// missed reports whether a backup was to be taken before a rollout that does not wait any more. If
// nothing has been recorded yet, it would record a state from after the rollout's start.
func missed(target Target, b *v1alpha1.NginxBackup) bool {
	return b.Spec.Trigger == v1alpha1.TriggerBeforeRollout && b.Status.StartTime == nil && !createdFor(b, target.Nginx.Status.WaitingRollout)
}

func since(w *v1alpha2.WaitingRollout) string { return w.Since.UTC().Format(time.RFC3339) }
