package backup

import (
	"context"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/progress"
)

// deletionPatience is how long data is tried to be deleted. Then the object goes, and the data
// stays: a store that is gone for good must not keep a namespace from being deleted.
const deletionPatience = time.Hour

// keepData sees to it that the object stays until its data is gone, if that is asked for.
func (w *work) keepData(ctx context.Context) error {
	if wanted := w.backup.Spec.DeletionPolicy == v1alpha1.Delete; wanted == controllerutil.ContainsFinalizer(w.backup, v1alpha1.Finalizer) {
		return nil
	} else if !wanted {
		return w.letGo(ctx)
	}
	before := w.backup.DeepCopy()
	controllerutil.AddFinalizer(w.backup, v1alpha1.Finalizer)
	return w.patch(ctx, before)
}

// place is where the data of a backup is, whether or not it is whole.
func place(backup *v1alpha1.NginxBackup) string {
	where, err := location.Parse(backup.Spec.Destination.URL)
	if err != nil {
		return job.Key(backup)
	}
	where.Folder = path.Join(where.Folder, job.Key(backup))
	return where.Base()
}

// letGo lets the API server remove the object.
func (w *work) letGo(ctx context.Context) error {
	before := w.backup.DeepCopy()
	controllerutil.RemoveFinalizer(w.backup, v1alpha1.Finalizer)
	return w.patch(ctx, before)
}

// patch writes the metadata, if the object is still the one that was looked at.
func (w *work) patch(ctx context.Context, before *v1alpha1.NginxBackup) error {
	err := w.Client.Patch(ctx, w.backup, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(FieldManager))
	return client.IgnoreNotFound(err)
}

// remove deletes the data of a backup that is being deleted.
func (w *work) remove(ctx context.Context) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(w.backup, v1alpha1.Finalizer) {
		w.Queue.leave(ctx, w.waiter())
		return ctrl.Result{}, nil
	}
	if w.backup.Spec.DeletionPolicy != v1alpha1.Delete || misplaced(w.backup) != nil {
		// The data of another namespace is not this one's to delete.
		return ctrl.Result{}, w.letGo(ctx)
	}
	left := deletionPatience - w.now.Sub(w.backup.DeletionTimestamp.Time)
	if left > 0 && w.writing() {
		// The end of its pod is an event.
		return ctrl.Result{RequeueAfter: left}, w.deleteJobs(ctx, w.jobsOf(job.Create))
	}
	verdict := progress.Judge(w.jobsOf(job.Delete), w.podsOf(job.Delete), w.now)
	switch {
	case verdict.Step == progress.Done:
		return ctrl.Result{}, w.letGo(ctx)
	case left <= 0:
		w.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, "DataLeft", "Delete",
			"The data in %s could not be deleted within %s and stays: %s", place(w.backup), deletionPatience, verdict.Message)
		return ctrl.Result{}, w.letGo(ctx)
	case verdict.Step == progress.Start:
		return w.startDeleting(ctx, verdict)
	}
	if verdict.After == 0 || verdict.After > left {
		verdict.After = left
	}
	return ctrl.Result{RequeueAfter: verdict.After}, w.tell(ctx, outcome.Deleting(w.backup, verdict.Reason, verdict.Message))
}

// writing tells whether there is a job that writes the data, or what is left of one: a pod that
// is told to end goes on for a while.
func (w *work) writing() bool {
	for _, pod := range w.podsOf(job.Create) {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return true
		}
	}
	return len(w.jobsOf(job.Create)) > 0
}

func (w *work) startDeleting(ctx context.Context, verdict progress.Verdict) (ctrl.Result, error) {
	if err := w.current(ctx); err != nil {
		return ctrl.Result{}, err
	}
	j, err := job.ForDelete(w.backup, verdict.Attempt, w.Image)
	if err != nil {
		return ctrl.Result{}, err
	}
	started, err := w.Queue.start(ctx, w.waiter(), func() error { return w.startJob(ctx, j) })
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		// No job will ever run here again.
		w.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, "DataLeft", "Delete",
			"The data in %s stays: the namespace is being deleted", place(w.backup))
		return ctrl.Result{}, w.letGo(ctx)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("delete the data: %w", err)
	}
	if !started {
		return ctrl.Result{RequeueAfter: queuePause}, w.tell(ctx, outcome.Deleting(w.backup, verdict.Reason, verdict.Message))
	}
	countFailure(verdict)
	return ctrl.Result{}, w.tell(ctx, outcome.Deleting(w.backup, verdict.Reason, verdict.Message))
}
