package outcome

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/kube/messages"
)

// Refused returns the status of a policy that is invalid.
func Refused(p *v1alpha1.NginxBackupPolicy, reason, message string) v1alpha1.NginxBackupPolicyStatus {
	status := *p.Status.DeepCopy()
	status.ObservedGeneration = p.Generation
	status.NextScheduleTime = nil
	setPolicy(p, &status, v1alpha1.ConditionAccepted, metav1.ConditionFalse, reason, message)
	setPolicy(p, &status, v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	return status
}

// OfPolicy returns the status of a policy. backups holds the backups of its targets, and of targets
// that do not exist any more.
func OfPolicy(p *v1alpha1.NginxBackupPolicy, targets []plan.Target, backups []*v1alpha1.NginxBackup) v1alpha1.NginxBackupPolicyStatus {
	status := *p.Status.DeepCopy()
	status.ObservedGeneration = p.Generation
	status.Targets, status.Backups, status.LastBackupTime = int32(len(targets)), 0, nil
	for _, b := range backups {
		if !plan.Good(b) || b.DeletionTimestamp != nil {
			continue
		}
		status.Backups++
		if status.LastBackupTime == nil || status.LastBackupTime.Before(b.Status.CompletionTime) {
			status.LastBackupTime = b.Status.CompletionTime.DeepCopy()
		}
	}
	setPolicy(p, &status, v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "The spec is valid")
	state, reason, message := readiness(p, targets, backups)
	setPolicy(p, &status, v1alpha1.ConditionReady, state, reason, message)
	return status
}

// SetNext sets the time of the next scheduled backups.
func SetNext(status *v1alpha1.NginxBackupPolicyStatus, next time.Time) {
	at := metav1.NewTime(next)
	status.NextScheduleTime = &at
}

// readiness returns the condition Ready of a policy: whether it has targets, and these have their
// backups.
func readiness(p *v1alpha1.NginxBackupPolicy, targets []plan.Target, backups []*v1alpha1.NginxBackup) (metav1.ConditionStatus, string, string) {
	switch {
	case p.Spec.Suspend != nil && *p.Spec.Suspend:
		return metav1.ConditionFalse, v1alpha1.ReasonSuspended, "No backups are taken or deleted while spec.suspend is true"
	case len(targets) == 0 && p.Spec.Target != nil:
		return metav1.ConditionFalse, v1alpha1.ReasonNoTargets, fmt.Sprintf("There is no NginxOperator %s in this namespace", p.Spec.Target.Name)
	case len(targets) == 0:
		return metav1.ConditionFalse, v1alpha1.ReasonNoTargets, "The selector matches no NginxOperator of this namespace"
	}
	of := map[string][]*v1alpha1.NginxBackup{}
	for _, b := range backups {
		of[b.Spec.Target.Name] = append(of[b.Spec.Target.Name], b)
	}
	return worst(p, targets, of)
}

// worst returns the condition of the target that is worst off. of maps the names of targets to
// their backups.
func worst(p *v1alpha1.NginxBackupPolicy, targets []plan.Target, of map[string][]*v1alpha1.NginxBackup) (metav1.ConditionStatus, string, string) {
	waiting, undeclared := 0, ""
	for _, t := range targets {
		mine := of[t.Nginx.Name]
		if c := firstFailing(mine); c != nil {
			return metav1.ConditionFalse, v1alpha1.ReasonBackupFailing, failingTargetMessage(c, p, t, mine)
		}
		if plan.Waiting(p, t, mine) {
			waiting++
		}
		if gate := plan.GateNotDeclared(p, t); gate != "" && undeclared == "" {
			undeclared = fmt.Sprintf("Rollouts of %s do not wait for a backup: add %s to spec.rollout.gates of that NginxOperator, or select others", t.Nginx.Name, gate)
		}
	}
	switch {
	case waiting > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonBackupPending, fmt.Sprintf("%d of %d targets wait for a backup", waiting, len(targets))
	case undeclared != "":
		return metav1.ConditionFalse, v1alpha1.ReasonGateNotDeclared, undeclared
	}
	return metav1.ConditionTrue, v1alpha1.ReasonUpToDate, "Every target has its backups"
}

// failingTargetMessage says what is wrong, and what it delays.
func failingTargetMessage(c *metav1.Condition, p *v1alpha1.NginxBackupPolicy, t plan.Target, backups []*v1alpha1.NginxBackup) string {
	name := t.Nginx.Name
	if plan.BlocksRollout(p, t, backups) {
		name += ", whose rollout waits for a backup"
	}
	return fmt.Sprintf("%s: %s: %s", name, c.Reason, c.Message)
}

func firstFailing(backups []*v1alpha1.NginxBackup) *metav1.Condition {
	for _, b := range backups {
		// A backup that was found in the store is not one that the policy has to create.
		if c := Failing(b); c != nil && !plan.Written(b) {
			return c
		}
	}
	return nil
}

// Failing returns the condition of a backup that fails, or nil if it does not.
func Failing(b *v1alpha1.NginxBackup) *metav1.Condition {
	if b.DeletionTimestamp != nil {
		return nil
	}
	return FindFailingCondition(b.Status.Conditions)
}

// FindFailingCondition returns the Completed condition of an object that fails, or nil if nothing has
// failed yet.
func FindFailingCondition(conditions []metav1.Condition) *metav1.Condition {
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionCompleted)
	if c == nil || c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonInProgress {
		return nil
	}
	return c
}

func setPolicy(p *v1alpha1.NginxBackupPolicy, status *v1alpha1.NginxBackupPolicyStatus, condition string, state metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: condition, Status: state, Reason: reason, Message: messages.Shorten(message, messageLimit), ObservedGeneration: p.Generation,
	})
}
