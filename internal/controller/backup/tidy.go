package backup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
)

// complete tells of the success. What the job needed goes in a later pass: once the success
// is told, nothing of it is needed any more.
func (w *work) complete(ctx context.Context, result job.Result) error {
	recorded, _, err := w.recorded(ctx)
	if err != nil {
		return err
	}
	return w.tell(ctx, outcome.Completed(w.backup, recorded, result))
}

// tidy removes what the job needed: the snapshot, with the pieces of those that an operator did
// not finish that died, and then the jobs, so that as long as there is a job there may be
// something to remove.
func (w *work) tidy(ctx context.Context) error {
	if err := w.deleteJobs(ctx, w.jobsOf(job.Adopt)); err != nil {
		return err
	}
	jobs := w.jobsOf(job.Create)
	if len(jobs) == 0 {
		return w.keepData(ctx)
	}
	recorded := &metav1.PartialObjectMetadataList{}
	recorded.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := w.Live.List(ctx, recorded, client.InNamespace(w.backup.Namespace), client.MatchingLabels{v1alpha1.LabelBackup: w.backup.Name}); err != nil {
		return fmt.Errorf("list the ConfigMaps of the snapshot: %w", err)
	}
	for i := range recorded.Items {
		cm := &recorded.Items[i]
		if !owned(cm, w.backup.UID) {
			continue
		}
		if err := w.Live.Delete(ctx, cm, client.Preconditions{UID: &cm.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s: %w", cm.Name, err)
		}
	}
	return errors.Join(w.deleteJobs(ctx, jobs), w.keepData(ctx))
}
