package agent

import (
	"context"

	"example.com/nginx-operator/internal/backup/job"
)

// Delete deletes the data of the backup. It deletes the record first, so that what remains after an
// interruption does not look like a backup.
func (a *Agent) Delete(ctx context.Context) (job.Result, error) {
	done, err := a.readCommit(ctx)
	if err != nil {
		return job.Result{}, err
	}
	if done != nil {
		if err := a.Store.Delete(ctx, a.path(commitName)); err != nil {
			return job.Result{}, err
		}
	}
	now := a.Now()
	return job.Result{Deleted: true, CompletedAt: &now}, a.sweep(ctx, "")
}
