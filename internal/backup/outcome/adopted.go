package outcome

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// Unverified is the status of a backup that is in the store already and was not verified yet,
// and why.
func Unverified(b *v1alpha1.NginxBackup, reason, message string) v1alpha1.NginxBackupStatus {
	if reason == v1alpha1.ReasonInProgress {
		message = "The archive is being verified"
	}
	status := *b.Status.DeepCopy()
	status.ObservedGeneration = b.Generation
	set(b, &status, v1alpha1.ConditionCompleted, metav1.ConditionFalse, reason, message)
	set(b, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The archive was not read yet")
	return status
}

// Adopted is the status of a backup that was in the store already, and was verified. What was
// told of it before, when it was written, stays.
func Adopted(b *v1alpha1.NginxBackup, result job.Result) v1alpha1.NginxBackupStatus {
	status := Unverified(b, v1alpha1.ReasonCompleted, "")
	completed := status.CompletionTime
	if a := result.Adopted; a != nil && completed == nil {
		state := snapshot.State{Change: a.Info.Application.State, Replicas: -1}
		if n := a.Info.Application.Replicas; n != nil {
			state.Replicas = *n
		}
		record(&status, snapshot.Snapshot{Info: a.Info, State: state})
		status.Reason = a.Info.Reason
		status.Contents = a.Contents.DeepCopy()
	}
	complete(b, &status, result, "The archive was read and is what its record says")
	if completed != nil {
		status.CompletionTime = completed
	}
	return status
}

// Missing is the status of a backup whose data is not there any more.
func Missing(b *v1alpha1.NginxBackup) v1alpha1.NginxBackupStatus {
	status := *b.Status.DeepCopy()
	status.ObservedGeneration = b.Generation
	set(b, &status, v1alpha1.ConditionVerified, metav1.ConditionFalse, v1alpha1.ReasonDataMissing,
		"The data is not in the store any more. If it is put back, it is verified; otherwise delete this object")
	return status
}

// Back is the status of a backup whose data is there again. It has to be verified.
func Back(b *v1alpha1.NginxBackup) v1alpha1.NginxBackupStatus {
	status := *b.Status.DeepCopy()
	set(b, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The data is in the store again")
	return status
}
