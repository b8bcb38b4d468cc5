package restore

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	v1alpha1ac "example.com/nginx-operator/api/backup/v1alpha1/applyconfiguration/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/kube/statuswrite"
)

// updateStatus applies the status if it differs, and then records the events of the transitions.
func (p *pass) updateStatus(ctx context.Context, status v1alpha1.NginxRestoreStatus) error {
	before := p.restore.Status
	if apiequality.Semantic.DeepEqual(before, status) {
		return nil
	}
	err := statuswrite.Apply(ctx, p.Client, controller.FieldManager, status, v1alpha1ac.NginxRestoreStatus(), func(s *v1alpha1ac.NginxRestoreStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxRestore(p.restore.Name, p.restore.Namespace).WithUID(p.restore.UID).WithStatus(s)
	})
	// The object may have been deleted meanwhile.
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	p.restore.Status = status
	controller.RecordEvents(p.Recorder, p.restore, outcome.RestoreEvents(before.Conditions, status.Conditions)...)
	return nil
}
