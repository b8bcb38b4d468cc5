package restore

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/backup/v1alpha1"
	v1alpha1ac "example.com/nginx-operator/api/backup/v1alpha1/applyconfiguration/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller"
)

// updateStatus applies the status if it differs, and then records the events of the transitions.
func (p *pass) updateStatus(ctx context.Context, status v1alpha1.NginxRestoreStatus) error {
	before := p.restore.Status
	if apiequality.Semantic.DeepEqual(before, status) {
		return nil
	}
	err := controller.ApplyStatus(ctx, p.Client, status, v1alpha1ac.NginxRestoreStatus(), func(s *v1alpha1ac.NginxRestoreStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxRestore(p.restore.Name, p.restore.Namespace).WithUID(p.restore.UID).WithStatus(s)
	})
	if err != nil {
		return err
	}
	p.restore.Status = status
	for _, condition := range []string{v1alpha1.ConditionCompleted, v1alpha1.ConditionVerified} {
		p.recordEvent(meta.FindStatusCondition(before.Conditions, condition), meta.FindStatusCondition(status.Conditions, condition))
	}
	return nil
}

// recordEvent records that something was restored or verified, or why not.
func (p *pass) recordEvent(was, now *metav1.Condition) {
	if now == nil || was != nil && was.Status == now.Status && was.Reason == now.Reason {
		return
	}
	kind := corev1.EventTypeWarning
	switch now.Reason {
	case v1alpha1.ReasonInProgress, v1alpha1.ReasonBackupNotCompleted, v1alpha1.ReasonNotVerified, v1alpha1.ReasonNotReady:
		// It continues without the user.
		return
	}
	if now.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	p.Recorder.Eventf(p.restore, nil, kind, now.Reason, "Restore", "%s", now.Message)
}
