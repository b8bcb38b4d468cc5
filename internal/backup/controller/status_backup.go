package controller

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	v1alpha1ac "example.com/nginx-operator/api/backup/v1alpha1/applyconfiguration/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/kube/statuswrite"
)

// UpdateBackupStatus applies the status of a backup if it differs, and then records the events of the transition.
func UpdateBackupStatus(ctx context.Context, c client.Client, recorder events.EventRecorder, backup *v1alpha1.NginxBackup, status v1alpha1.NginxBackupStatus) error {
	before := backup.Status
	if apiequality.Semantic.DeepEqual(before, status) {
		return nil
	}
	err := statuswrite.Apply(ctx, c, FieldManager, status, v1alpha1ac.NginxBackupStatus(), func(s *v1alpha1ac.NginxBackupStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxBackup(backup.Name, backup.Namespace).WithUID(backup.UID).WithStatus(s)
	})
	// The object may have been deleted meanwhile.
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	backup.Status = status
	RecordEvents(recorder, backup, outcome.BackupEvents(before.Conditions, status.Conditions)...)
	return nil
}
