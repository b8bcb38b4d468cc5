package restore

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/progress"
	"example.com/nginx-operator/internal/backup/restoration"
)

// volumeRestore writes the files of a plan to the volumes.
//
// If nothing may be overwritten, a job compares the volumes with the backup first: when a pod mounts a
// volume to write to it, Kubernetes changes the owner of its files (fsGroup), which is a change
// already.
type volumeRestore struct {
	*pass
	source  job.RestoreSource
	request restoration.Request
	backup  restoration.Backup
	plan    restoration.Plan
}

// volumeRestoreMessages are the messages of the condition while a job runs.
var volumeRestoreMessages = map[job.Task]string{
	job.Match:   "The files are being compared",
	job.Extract: "The files are being restored",
}

// execute is one pass. found is what the volumes contained; in a dry run, what they contain. It is
// nil while a job runs, or if one has failed.
func (f *volumeRestore) execute(ctx context.Context) (found []restoration.VolumeComparison, result ctrl.Result, err error) {
	if f.comparesFirst() {
		found, result, err = f.task(ctx, job.Match, job.ForCompareVolumes)
		if found == nil || err != nil || job.DryRun(f.restore) {
			return found, result, err
		}
		switch with := f.plan.WithVolumes(found); {
		case len(with.Conflicts) > len(f.plan.Conflicts):
			return nil, ctrl.Result{}, f.updateStatus(ctx, outcome.Planned(f.restore, f.request.Target, f.backup, with.Changes,
				v1alpha1.ReasonConflict, outcome.Conflict(with.Conflicts, with.Begun)))
		case !restoration.Missing(found):
			return found, ctrl.Result{}, nil
		}
	}
	return f.task(ctx, job.Extract, job.ForExtract)
}

// comparesFirst reports whether the volumes are compared before any file is written. Once files
// have been written, a comparison would find them.
func (f *volumeRestore) comparesFirst() bool {
	return job.DryRun(f.restore) || f.restore.Spec.OnConflict != v1alpha1.ConflictOverwrite && len(f.JobsOfTask(job.Extract)) == 0
}

// makeJob builds a job for volumes.
type makeJob func(*v1alpha1.NginxRestore, job.RestoreSource, restoration.Plan, string, int, job.PodOptions) (*batchv1.Job, error)

// task runs one task as a job. It bypasses the queue: the job that has read the backup still runs,
// so restores that hold all places would wait for each other.
func (f *volumeRestore) task(ctx context.Context, task job.Task, makeJob makeJob) ([]restoration.VolumeComparison, ctrl.Result, error) {
	verdict := f.Evaluate(task, f.now)
	switch verdict.Action {
	case progress.Done:
		return append([]restoration.VolumeComparison{}, verdict.Result.Volumes...), ctrl.Result{}, nil
	case progress.Wait:
		result, err := f.reportWaiting(ctx, verdict, volumeRestoreMessages[task])
		return nil, result, err
	case progress.Start:
	}
	if err := f.VerifyFresh(ctx); err != nil {
		return nil, ctrl.Result{}, err
	}
	j, err := makeJob(f.restore, f.source, f.plan, f.request.Target, verdict.Attempt, f.PodOptions)
	if err != nil {
		return nil, ctrl.Result{}, err
	}
	if err := f.updateStatus(ctx, outcome.Planned(f.restore, f.request.Target, f.backup, f.plan.Changes, verdict.Reason, verdict.Message)); err != nil {
		return nil, ctrl.Result{}, err
	}
	if err := f.StartJob(ctx, j); err != nil {
		return nil, ctrl.Result{}, f.reportError(ctx, v1alpha1.ReasonJobNotCreated, err)
	}
	jobs.CountFailure(verdict)
	return nil, ctrl.Result{}, nil
}

// extracted reports whether files have been written.
func (p *pass) extracted() bool {
	return p.Evaluate(job.Extract, p.now).Action == progress.Done
}
