package backup

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/progress"
)

// damagedAttempts is how often an archive is read that is not what its record says. To read it
// for ever, which can take hours, would not mend it.
const damagedAttempts = 3

// adopt verifies a backup whose data is in the store already.
func (w *work) adopt(ctx context.Context) (ctrl.Result, error) {
	if _, err := location.Parse(w.backup.Spec.Destination.URL); err != nil {
		return ctrl.Result{}, w.tell(ctx, outcome.Unverified(w.backup, v1alpha1.ReasonDestinationInvalid, err.Error()))
	}
	if err := misplaced(w.backup); err != nil {
		return ctrl.Result{}, w.tell(ctx, outcome.Unverified(w.backup, v1alpha1.ReasonPathInvalid, err.Error()))
	}
	verdict := progress.Judge(w.jobsOf(job.Adopt), w.podsOf(job.Adopt), w.now)
	switch {
	case verdict.Step == progress.Done:
		return ctrl.Result{}, w.tell(ctx, outcome.Adopted(w.backup, verdict.Result))
	case final(verdict):
		return ctrl.Result{}, w.tell(ctx, outcome.Unverified(w.backup, verdict.Reason, verdict.Message))
	case verdict.Step == progress.Start:
		return w.startAdopting(ctx, verdict)
	}
	if verdict.Reason == v1alpha1.ReasonPodNotStarted {
		w.Queue.move(ctx)
	}
	if verdict.Attempt > 1 && verdict.Reason == v1alpha1.ReasonInProgress && outcome.Failing(w.backup) != nil {
		// What the attempt before has said is worth more than that there is another.
		return ctrl.Result{RequeueAfter: verdict.After}, nil
	}
	return ctrl.Result{RequeueAfter: verdict.After}, w.tell(ctx, outcome.Unverified(w.backup, verdict.Reason, verdict.Message))
}

// final tells that another attempt would say the same.
func final(verdict progress.Verdict) bool {
	return verdict.Reason == v1alpha1.ReasonPathInvalid || verdict.Reason == v1alpha1.ReasonDamaged && verdict.Attempt >= damagedAttempts
}

// misplaced tells why the path of an existing backup cannot be one of this namespace.
func misplaced(backup *v1alpha1.NginxBackup) error {
	if backup.Spec.Existing == nil {
		return nil
	}
	place, err := listing.ParsePath(backup.Spec.Existing.Path)
	if err != nil {
		return fmt.Errorf("existing.path %q: %w: create another NginxBackup", backup.Spec.Existing.Path, err)
	}
	if place.Namespace != backup.Namespace {
		return fmt.Errorf("existing.path begins with %s/: a backup is brought back in a namespace of the same name, this one is %s", place.Namespace, backup.Namespace)
	}
	return nil
}

func (w *work) startAdopting(ctx context.Context, verdict progress.Verdict) (ctrl.Result, error) {
	if err := w.current(ctx); err != nil {
		return ctrl.Result{}, err
	}
	j, err := job.ForAdopt(w.backup, verdict.Attempt, w.Image)
	if err != nil {
		return ctrl.Result{}, err
	}
	started, err := w.Queue.startPatiently(ctx, w.waiter(), func() error { return w.startJob(ctx, j) })
	if err != nil {
		return ctrl.Result{}, errors.Join(err, w.tell(ctx, outcome.Unverified(w.backup, v1alpha1.ReasonJobNotCreated, err.Error())))
	}
	if !started {
		return ctrl.Result{RequeueAfter: queuePause}, nil
	}
	return ctrl.Result{}, w.tell(ctx, outcome.Unverified(w.backup, verdict.Reason, verdict.Message))
}
