package backup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/backup/v1alpha1"
	v1alpha1ac "example.com/nginx-operator/api/backup/v1alpha1/applyconfiguration/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/plan"
)

// tell writes the status, if it is another one, and then the event of the transition.
func (w *work) tell(ctx context.Context, status v1alpha1.NginxBackupStatus) error {
	before := w.backup.Status
	if apiequality.Semantic.DeepEqual(before, status) {
		return nil
	}
	err := applyStatus(ctx, w.Client, status, v1alpha1ac.NginxBackupStatus(), func(s *v1alpha1ac.NginxBackupStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxBackup(w.backup.Name, w.backup.Namespace).WithUID(w.backup.UID).WithStatus(s)
	})
	if err != nil {
		return err
	}
	w.backup.Status = status
	w.announce(before.Conditions, status)
	return nil
}

// announce tells who looks at events when a backup was completed, and when it does not come
// about for another reason than before.
func (w *work) announce(before []metav1.Condition, status v1alpha1.NginxBackupStatus) {
	now := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCompleted)
	was := meta.FindStatusCondition(before, v1alpha1.ConditionCompleted)
	if now == nil || was != nil && was.Status == now.Status && was.Reason == now.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	switch {
	case plan.Good(w.backup):
	case now.Reason == v1alpha1.ReasonInProgress || now.Reason == v1alpha1.ReasonDeleting:
		return
	default:
		kind = corev1.EventTypeWarning
	}
	w.Recorder.Eventf(w.backup, nil, kind, now.Reason, "Backup", "%s", now.Message)
}
