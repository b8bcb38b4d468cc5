package outcome

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/kube/conditioncheck"
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
	setVerdict(p, &status.Conditions, v1alpha1.ConditionReady, conditioncheck.Evaluate(newPolicyView(p, targets, backups), readyChecks))
	return status
}

// SetNext sets the time of the next scheduled backups.
func SetNext(status *v1alpha1.NginxBackupPolicyStatus, next time.Time) {
	at := metav1.NewTime(next)
	status.NextScheduleTime = &at
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
	setVerdict(p, &status.Conditions, condition, conditioncheck.Verdict{Status: state, Reason: reason, Message: message})
}
