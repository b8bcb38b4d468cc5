package backup

import (
	"cmp"
	"context"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
)

// turnPause is after which time a restore looks again whether it is its turn.
const turnPause = 5 * time.Second

// elder is the name of an older restore of the same application that is not over; empty: there is
// none. Two at a time would write the same files.
func (w *restoring) elder(ctx context.Context) (string, error) {
	if job.DryRun(w.restore) {
		return "", nil
	}
	list := &v1alpha1.NginxRestoreList{}
	if err := w.Client.List(ctx, list, client.InNamespace(w.restore.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	target, err := w.targetOf(ctx, w.restore)
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		other := &list.Items[i]
		if !older(other, w.restore) || other.DeletionTimestamp != nil || outcome.Over(other) || job.DryRun(other) {
			continue
		}
		if theirs, err := w.targetOf(ctx, other); err != nil || theirs == target {
			return other.Name, err
		}
	}
	return "", nil
}

func older(a, b *v1alpha1.NginxRestore) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name)) < 0
}

// targetOf is the application that a restore brings back, as far as it is known before the backup
// was read; empty: it is not.
func (w *restoring) targetOf(ctx context.Context, r *v1alpha1.NginxRestore) (string, error) {
	switch {
	case r.Spec.Target != nil:
		return r.Spec.Target.Name, nil
	case r.Spec.Location != nil:
		return strings.Split(r.Spec.Location.Path, "/")[1], nil
	}
	backup := &v1alpha1.NginxBackup{}
	err := w.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Backup.Name}, backup)
	return backup.Spec.Target.Name, client.IgnoreNotFound(err)
}
