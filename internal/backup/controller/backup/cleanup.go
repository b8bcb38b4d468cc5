package backup

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller/jobs"
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
	labels := client.MatchingLabels{v1alpha1.LabelBackup: p.backup.Name}
	if err := jobs.DeleteConfigMaps(ctx, p.Live, p.backup.Namespace, labels, p.backup.UID); err != nil {
		return err
	}
	return errors.Join(p.DeleteJobs(ctx, creating), p.syncFinalizer(ctx))
}
