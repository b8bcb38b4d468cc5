package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/progress"
	"example.com/nginx-operator/internal/kube/cachedcontent"
)

// deletionTimeout bounds the attempts to delete data. After it, the object is removed and the data
// stays: a store that is gone for good must not block the deletion of a namespace.
const deletionTimeout = time.Hour

// syncFinalizer adds the finalizer if the data is to be deleted with the object, and otherwise
// removes it.
func (p *pass) syncFinalizer(ctx context.Context) error {
	if wanted := p.backup.Spec.DeletionPolicy == v1alpha1.Delete; wanted == controllerutil.ContainsFinalizer(p.backup, v1alpha1.Finalizer) {
		return nil
	} else if !wanted {
		return p.removeFinalizer(ctx)
	}
	before := p.backup.DeepCopy()
	controllerutil.AddFinalizer(p.backup, v1alpha1.Finalizer)
	return p.patch(ctx, before)
}

// removeFinalizer lets the API server remove the object.
func (p *pass) removeFinalizer(ctx context.Context) error {
	before := p.backup.DeepCopy()
	controllerutil.RemoveFinalizer(p.backup, v1alpha1.Finalizer)
	return p.patch(ctx, before)
}

// patch writes the metadata, unless the object has changed since it was read.
func (p *pass) patch(ctx context.Context, before *v1alpha1.NginxBackup) error {
	if !cachedcontent.HasAllFinalizers(before) {
		return errors.New("it has more than 16 KiB of finalizers: remove some")
	}
	err := p.Client.Patch(ctx, p.backup, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(controller.FieldManager))
	return client.IgnoreNotFound(err)
}

// deleteData deletes the data of a backup whose object is being deleted.
func (p *pass) deleteData(ctx context.Context) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p.backup, v1alpha1.Finalizer) {
		p.Queue.Remove(ctx, p.waiter())
		return ctrl.Result{}, nil
	}
	if p.backup.Spec.DeletionPolicy != v1alpha1.Delete || validatePath(p.backup) != nil {
		// This namespace must not delete the data of another one.
		return ctrl.Result{}, p.removeFinalizer(ctx)
	}
	left := deletionTimeout - p.now.Sub(p.backup.DeletionTimestamp.Time)
	if left > 0 && p.writing() {
		// The end of its pod triggers the next pass.
		return ctrl.Result{RequeueAfter: left}, p.DeleteJobs(ctx, p.JobsOfTask(job.Create))
	}
	verdict := p.Evaluate(job.Delete, p.now)
	switch {
	case verdict.Action == progress.Done:
		return ctrl.Result{}, p.removeFinalizer(ctx)
	case left <= 0:
		controller.RecordEvents(p.Recorder, p.backup, outcome.DataNotDeleted(p.backup, deletionTimeout, verdict.Message))
		return ctrl.Result{}, p.removeFinalizer(ctx)
	case verdict.Action == progress.Start:
		return p.startDeleting(ctx, verdict)
	}
	if verdict.After == 0 || verdict.After > left {
		verdict.After = left
	}
	return ctrl.Result{RequeueAfter: verdict.After}, p.updateStatus(ctx, outcome.Deleting(p.backup, verdict.Reason, verdict.Message))
}

// writing reports whether a job, or a terminating pod of one, may still write the data.
func (p *pass) writing() bool {
	for _, pod := range p.PodsOfTask(job.Create) {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return true
		}
	}
	return len(p.JobsOfTask(job.Create)) > 0
}

func (p *pass) startDeleting(ctx context.Context, verdict progress.Verdict) (ctrl.Result, error) {
	if err := p.VerifyFresh(ctx); err != nil {
		return ctrl.Result{}, err
	}
	j, err := job.ForDelete(p.backup, verdict.Attempt, p.PodOptions)
	if err != nil {
		return ctrl.Result{}, err
	}
	started, err := p.Queue.StartOrEnqueue(ctx, p.waiter(), func() error { return p.StartJob(ctx, j) })
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		// No job can run in this namespace again.
		controller.RecordEvents(p.Recorder, p.backup, outcome.NamespaceTerminating(p.backup))
		return ctrl.Result{}, p.removeFinalizer(ctx)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("delete the data: %w", err)
	}
	if !started {
		return ctrl.Result{RequeueAfter: jobs.QueueRetry}, p.updateStatus(ctx, outcome.Deleting(p.backup, verdict.Reason, verdict.Message))
	}
	jobs.CountFailure(verdict)
	return ctrl.Result{}, p.updateStatus(ctx, outcome.Deleting(p.backup, verdict.Reason, verdict.Message))
}
