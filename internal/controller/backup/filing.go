package backup

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/progress"
	"example.com/nginx-operator/internal/backup/restoration"
)

// filing brings the files of a plan back.
//
// Where nothing may be overwritten, a job compares the volumes with the backup first: to write
// to a volume, a pod is given its files by Kubernetes (fsGroup), which is a change already.
type filing struct {
	*restoring
	source job.Source
	wish   restoration.Wish
	backup restoration.Backup
	plan   restoration.Plan
}

// filingWords tell what a job does with volumes.
var filingWords = map[job.Task]string{
	job.Match:   "The files are being compared",
	job.Extract: "The files are being brought back",
}

// carryOut is one pass. found is what there was in the volumes, or, in a dry run, is; nil: it is
// waited for, or has failed.
func (f *filing) carryOut(ctx context.Context) (found []restoration.Compared, result ctrl.Result, err error) {
	if f.looksFirst() {
		found, result, err = f.task(ctx, job.Match, job.ForMatch)
		if found == nil || err != nil || job.DryRun(f.restore) {
			return found, result, err
		}
		switch with := f.plan.WithVolumes(found); {
		case len(with.Conflicts) > len(f.plan.Conflicts):
			return nil, ctrl.Result{}, f.tell(ctx, outcome.Planned(f.restore, f.wish.Target, f.backup, with.Changes,
				v1alpha1.ReasonConflict, outcome.Conflict(with.Conflicts, with.Begun)))
		case !restoration.Missing(found):
			return found, ctrl.Result{}, nil
		}
	}
	return f.task(ctx, job.Extract, job.ForExtract)
}

// looksFirst tells whether the volumes must stay as they are if they have other files. Once files
// are being brought back, some are there.
func (f *filing) looksFirst() bool {
	return job.DryRun(f.restore) || f.restore.Spec.OnConflict != v1alpha1.ConflictOverwrite && len(f.jobsOf(job.Extract)) == 0
}

// makeJob is how a job for volumes is made.
type makeJob func(*v1alpha1.NginxRestore, job.Source, restoration.Plan, string, int, string) (*batchv1.Job, error)

// task has something done by a job. It does not wait in the line: the job that has read the backup
// is there still, and as many restores as there are places would wait for each other.
func (f *filing) task(ctx context.Context, task job.Task, makeJob makeJob) ([]restoration.Compared, ctrl.Result, error) {
	verdict := progress.Judge(f.jobsOf(task), f.podsOf(task), f.now)
	switch verdict.Step {
	case progress.Done:
		return append([]restoration.Compared{}, verdict.Result.Volumes...), ctrl.Result{}, nil
	case progress.Wait:
		result, err := f.await(ctx, verdict, filingWords[task])
		return nil, result, err
	case progress.Start:
	}
	if err := f.current(ctx); err != nil {
		return nil, ctrl.Result{}, err
	}
	j, err := makeJob(f.restore, f.source, f.plan, f.wish.Target, verdict.Attempt, f.Image)
	if err != nil {
		return nil, ctrl.Result{}, err
	}
	if err := f.tell(ctx, outcome.Planned(f.restore, f.wish.Target, f.backup, f.plan.Changes, verdict.Reason, verdict.Message)); err != nil {
		return nil, ctrl.Result{}, err
	}
	if err := f.startJob(ctx, j); err != nil {
		return nil, ctrl.Result{}, f.failed(ctx, v1alpha1.ReasonJobNotCreated, err)
	}
	countFailure(verdict)
	return nil, ctrl.Result{}, nil
}

// extracted tells whether files were brought back.
func (w *restoring) extracted() bool {
	return progress.Judge(w.jobsOf(job.Extract), w.podsOf(job.Extract), w.now).Step == progress.Done
}
