package backup

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
)

// turnPause is after which time a restore looks again whether it is its turn.
const turnPause = 5 * time.Second

// holder is the name of another restore that has begun with the application and is not over;
// empty: there is none. Two at a time would write the same files. Whoever begins tells its target
// in its status before the next one looks, since one alone is carried out at a time, by a client
// that reads what it has written.
func (w *restoring) holder(ctx context.Context, target string) (string, error) {
	if job.DryRun(w.restore) || w.restore.Status.Target == target {
		return "", nil
	}
	list := &v1alpha1.NginxRestoreList{}
	if err := w.Client.List(ctx, list, client.InNamespace(w.restore.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.Status.Target == target && other.UID != w.restore.UID && other.DeletionTimestamp == nil && !outcome.Over(other) && !job.DryRun(other) {
			return other.Name, nil
		}
	}
	return "", nil
}
