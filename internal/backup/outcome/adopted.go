package outcome

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// ExistingNotVerified returns the status of a backup that was already in the store and is not verified yet,
// with the reason.
func ExistingNotVerified(b *v1alpha1.NginxBackup, reason, message string) v1alpha1.NginxBackupStatus {
	if reason == v1alpha1.ReasonInProgress {
		message = "The archive is being verified"
	}
	status := *b.Status.DeepCopy()
	status.ObservedGeneration = b.Generation
	set(b, &status, v1alpha1.ConditionCompleted, metav1.ConditionFalse, reason, message)
	set(b, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The archive has not been read yet")
	return status
}

// Adopted returns the status of a backup that was already in the store and has been verified. What
// the status said when the backup was written is kept.
func Adopted(b *v1alpha1.NginxBackup, result job.Result) v1alpha1.NginxBackupStatus {
	status := ExistingNotVerified(b, v1alpha1.ReasonCompleted, "")
	completed := status.CompletionTime
	if a := result.Existing; a != nil && completed == nil {
		state := snapshot.Fingerprint{Change: a.Info.Application.State, Replicas: -1}
		if n := a.Info.Application.Replicas; n != nil {
			state.Replicas = *n
		}
		record(&status, snapshot.Snapshot{Info: a.Info, State: state})
		status.Reason = a.Info.Reason
		status.Contents = a.Contents.DeepCopy()
	}
	complete(b, &status, result, "The archive was read and matches its record")
	if completed != nil {
		status.CompletionTime = completed
	}
	return status
}

// Missing returns the status of a backup whose data is not in the store any more.
func Missing(b *v1alpha1.NginxBackup) v1alpha1.NginxBackupStatus {
	status := *b.Status.DeepCopy()
	status.ObservedGeneration = b.Generation
	set(b, &status, v1alpha1.ConditionVerified, metav1.ConditionFalse, v1alpha1.ReasonDataMissing,
		"The data is no longer in the store. If it returns, it is verified; otherwise delete this object")
	return status
}

// DataFoundAgain returns the status of a backup whose data is in the store again. It has to be verified.
func DataFoundAgain(b *v1alpha1.NginxBackup) v1alpha1.NginxBackupStatus {
	status := *b.Status.DeepCopy()
	set(b, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The data is in the store again")
	return status
}
