package restore

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
)

// lockRetry is the interval at which a restore checks whether the lock is free.
const lockRetry = 5 * time.Second

// lockHolder returns the name of another unfinished restore of the application, or "". Two at a
// time would write the same files. A restore writes its target to its status before the next one
// checks: the controller reconciles one restore at a time, with a client that reads its own writes.
func (p *pass) lockHolder(ctx context.Context, target string) (string, error) {
	if job.DryRun(p.restore) || p.restore.Status.Target == target {
		return "", nil
	}
	list := &v1alpha1.NginxRestoreList{}
	if err := p.Client.List(ctx, list, client.InNamespace(p.restore.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.Status.Target == target && other.UID != p.restore.UID && other.DeletionTimestamp == nil && !outcome.RestoreFinished(other) && !job.DryRun(other) {
			return other.Name, nil
		}
	}
	return "", nil
}
