package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	v1alpha1ac "example.com/nginx-operator/api/backup/v1alpha1/applyconfiguration/backup/v1alpha1"
)

// UpdateBackupStatus applies the status of a backup if it differs, and then records the events of the transition.
func UpdateBackupStatus(ctx context.Context, c client.Client, recorder events.EventRecorder, backup *v1alpha1.NginxBackup, status v1alpha1.NginxBackupStatus) error {
	before := backup.Status
	if apiequality.Semantic.DeepEqual(before, status) {
		return nil
	}
	err := ApplyStatus(ctx, c, status, v1alpha1ac.NginxBackupStatus(), func(s *v1alpha1ac.NginxBackupStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxBackup(backup.Name, backup.Namespace).WithUID(backup.UID).WithStatus(s)
	})
	if err != nil {
		return err
	}
	backup.Status = status
	recordEvents(recorder, backup, before.Conditions)
	return nil
}

// recordEvents records an event when a backup completes, fails for another reason than before, or
// loses its data.
func recordEvents(recorder events.EventRecorder, backup *v1alpha1.NginxBackup, before []metav1.Condition) {
	for _, condition := range []string{v1alpha1.ConditionCompleted, v1alpha1.ConditionVerified} {
		now, was := meta.FindStatusCondition(backup.Status.Conditions, condition), meta.FindStatusCondition(before, condition)
		if now == nil || was != nil && was.Status == now.Status && was.Reason == now.Reason {
			continue
		}
		switch {
		case condition == v1alpha1.ConditionVerified && now.Reason != v1alpha1.ReasonDataMissing:
		case now.Status == metav1.ConditionTrue:
			recorder.Eventf(backup, nil, corev1.EventTypeNormal, now.Reason, "Backup", "%s", now.Message)
		case now.Reason != v1alpha1.ReasonInProgress && now.Reason != v1alpha1.ReasonDeleting:
			recorder.Eventf(backup, nil, corev1.EventTypeWarning, now.Reason, "Backup", "%s", now.Message)
		}
	}
}
