package backup

import (
	"context"
	"errors"
	"fmt"

	"example.com/nginx-operator/internal/backup/controller/jobs"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
)

// complete reports success. A later pass deletes what the job needed, since nothing needs it once
// success is reported.
func (p *pass) complete(ctx context.Context, result job.Result) error {
	recorded, _, err := p.recorded(ctx)
	if err != nil {
		return err
	}
	return p.updateStatus(ctx, outcome.Completed(p.backup, recorded, result))
}

// cleanUp deletes what the job needed: first the ConfigMaps of the snapshot, also those of an
// operator that died while it took one, then the jobs. As long as a job exists, there may be
// something left to delete.
func (p *pass) cleanUp(ctx context.Context) error {
	if err := p.DeleteJobs(ctx, p.JobsOfTask(job.VerifyExisting)); err != nil {
		return err
	}
	creating := p.JobsOfTask(job.Create)
	if len(creating) == 0 {
		return p.syncFinalizer(ctx)
	}
	recorded := &metav1.PartialObjectMetadataList{}
	recorded.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := p.Live.List(ctx, recorded, client.InNamespace(p.backup.Namespace), client.MatchingLabels{v1alpha1.LabelBackup: p.backup.Name}); err != nil {
		return fmt.Errorf("list the ConfigMaps of the snapshot: %w", err)
	}
	for i := range recorded.Items {
		cm := &recorded.Items[i]
		if !jobs.Owned(cm, p.backup.UID) {
			continue
		}
		if err := p.Live.Delete(ctx, cm, client.Preconditions{UID: &cm.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s: %w", cm.Name, err)
		}
	}
	return errors.Join(p.DeleteJobs(ctx, creating), p.syncFinalizer(ctx))
}
