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
)

// tell writes the status, if it is another one, and then the events of the transitions.
func (w *restoring) tell(ctx context.Context, status v1alpha1.NginxRestoreStatus) error {
	before := w.restore.Status
	if apiequality.Semantic.DeepEqual(before, status) {
		return nil
	}
	err := applyStatus(ctx, w.Client, status, v1alpha1ac.NginxRestoreStatus(), func(s *v1alpha1ac.NginxRestoreStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxRestore(w.restore.Name, w.restore.Namespace).WithUID(w.restore.UID).WithStatus(s)
	})
	if err != nil {
		return err
	}
	w.restore.Status = status
	for _, condition := range []string{v1alpha1.ConditionCompleted, v1alpha1.ConditionVerified} {
		w.announce(meta.FindStatusCondition(before.Conditions, condition), meta.FindStatusCondition(status.Conditions, condition))
	}
	return nil
}

// announce tells who looks at events that something was restored or verified, or why not.
func (w *restoring) announce(was, now *metav1.Condition) {
	if now == nil || was != nil && was.Status == now.Status && was.Reason == now.Reason {
		return
	}
	kind := corev1.EventTypeWarning
	switch now.Reason {
	case v1alpha1.ReasonInProgress, v1alpha1.ReasonBackupNotCompleted, v1alpha1.ReasonNotVerified, v1alpha1.ReasonNotReady:
		// It goes on by itself.
		return
	}
	if now.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	w.Recorder.Eventf(w.restore, nil, kind, now.Reason, "Restore", "%s", now.Message)
}
