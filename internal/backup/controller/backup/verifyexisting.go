package backup

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/progress"
)

// maxReadAttempts bounds how often an archive that differs from its record is read. Reading can
// take hours, and repeating it does not repair the archive.
const maxReadAttempts = 3

// verifyExisting verifies a backup whose data is already in the store.
func (p *pass) verifyExisting(ctx context.Context) (ctrl.Result, error) {
	if _, err := location.Parse(p.backup.Spec.Destination.URL); err != nil {
		return ctrl.Result{}, p.updateStatus(ctx, outcome.ExistingNotVerified(p.backup, v1alpha1.ReasonDestinationInvalid, err.Error()))
	}
	if err := validatePath(p.backup); err != nil {
		return ctrl.Result{}, p.updateStatus(ctx, outcome.ExistingNotVerified(p.backup, v1alpha1.ReasonPathInvalid, err.Error()))
	}
	verdict := p.Evaluate(job.VerifyExisting, p.now)
	switch {
	case verdict.Action == progress.Done && p.replaced(verdict.Result):
		return ctrl.Result{}, p.updateStatus(ctx, outcome.ExistingNotVerified(p.backup, v1alpha1.ReasonDamaged, fmt.Sprintf(
			"the archive in the store has the digest sha256:%.64s, and this backup has %s", verdict.Result.SHA256, p.backup.Status.Digest)))
	case verdict.Action == progress.Done:
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Adopted(p.backup, verdict.Result))
	case final(verdict):
		return ctrl.Result{}, p.updateStatus(ctx, outcome.ExistingNotVerified(p.backup, verdict.Reason, verdict.Message))
	case verdict.Action == progress.Start:
		return p.startVerifying(ctx, verdict)
	}
	if verdict.Reason == v1alpha1.ReasonPodNotStarted {
		p.Queue.WakeNext(ctx)
	}
	if verdict.Attempt > 1 && verdict.Reason == v1alpha1.ReasonInProgress && outcome.Failing(p.backup) != nil {
		// Keep the message of the attempt that failed: it says more than that another one is
		// running.
		return ctrl.Result{RequeueAfter: verdict.After}, nil
	}
	return ctrl.Result{RequeueAfter: verdict.After}, p.updateStatus(ctx, outcome.ExistingNotVerified(p.backup, verdict.Reason, verdict.Message))
}

// replaced reports whether the archive in the store is not the one whose digest the backup has.
func (p *pass) replaced(result job.Result) bool {
	return p.backup.Status.Digest != "" && p.backup.Status.Digest != "sha256:"+result.SHA256
}

// final reports whether another attempt would have the same result.
func final(verdict progress.Verdict) bool {
	return verdict.Reason == v1alpha1.ReasonPathInvalid || verdict.Reason == v1alpha1.ReasonDamaged && verdict.Attempt >= maxReadAttempts
}

// validatePath returns an error if the path of an existing backup does not belong to this
// namespace.
func validatePath(backup *v1alpha1.NginxBackup) error {
	if backup.Spec.Existing == nil {
		return nil
	}
	place, err := listing.ParsePath(backup.Spec.Existing.Path)
	if err != nil {
		return fmt.Errorf("existing.path %q: %w: create another NginxBackup", backup.Spec.Existing.Path, err)
	}
	if place.Namespace != backup.Namespace {
		return fmt.Errorf("existing.path begins with %s/: a backup can be restored only in a namespace of the same name, this one is %s", place.Namespace, backup.Namespace)
	}
	return nil
}

func (p *pass) startVerifying(ctx context.Context, verdict progress.Verdict) (ctrl.Result, error) {
	if err := p.VerifyFresh(ctx); err != nil {
		return ctrl.Result{}, err
	}
	j, err := job.ForVerifyExisting(p.backup, verdict.Attempt, p.PodOptions)
	if err != nil {
		return ctrl.Result{}, err
	}
	started, err := p.Queue.StartLowPriority(ctx, p.waiter(), func() error { return p.StartJob(ctx, j) })
	if err != nil {
		return ctrl.Result{}, errors.Join(err, p.updateStatus(ctx, outcome.ExistingNotVerified(p.backup, v1alpha1.ReasonJobNotCreated, err.Error())))
	}
	if !started {
		return ctrl.Result{RequeueAfter: jobs.QueueRetry}, nil
	}
	return ctrl.Result{}, p.updateStatus(ctx, outcome.ExistingNotVerified(p.backup, verdict.Reason, verdict.Message))
}
