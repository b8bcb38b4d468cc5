package backup

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

// tell writes the status, if it is another one, and then the events of the transition.
func (w *work) tell(ctx context.Context, status v1alpha1.NginxBackupStatus) error {
	return tell(ctx, w.Client, w.Recorder, w.backup, status)
}

func tell(ctx context.Context, c client.Client, recorder events.EventRecorder, backup *v1alpha1.NginxBackup, status v1alpha1.NginxBackupStatus) error {
	before := backup.Status
	if apiequality.Semantic.DeepEqual(before, status) {
		return nil
	}
	err := applyStatus(ctx, c, status, v1alpha1ac.NginxBackupStatus(), func(s *v1alpha1ac.NginxBackupStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxBackup(backup.Name, backup.Namespace).WithUID(backup.UID).WithStatus(s)
	})
	if err != nil {
		return err
	}
	backup.Status = status
	announce(recorder, backup, before.Conditions)
	return nil
}

// announce tells who looks at events when a backup was completed, when it does not come about
// for another reason than before, and when its data is gone.
func announce(recorder events.EventRecorder, backup *v1alpha1.NginxBackup, before []metav1.Condition) {
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
