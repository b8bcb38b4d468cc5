package backup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/progress"
)

// FieldManager owns the backup operator's fields in server-side apply.
const FieldManager = "nginx-backup-operator"

// Backups carries out NginxBackups.
type Backups struct {
	// Client reads its own kinds and jobs from the cache.
	Client client.Client
	// Live reads and writes past the caches: the ConfigMaps of snapshots and what is recorded
	// in them is looked at once.
	Live     client.Client
	Jobs     *Jobs
	Recorder events.EventRecorder
	// Version is the operator's.
	Version string
	Clock   clock.PassiveClock

	taking sync.Mutex
}

// work is one pass over one backup.
type work struct {
	*Backups
	tasks
	backup *v1alpha1.NginxBackup
	now    time.Time
}

// waiter is the backup in the line.
func (w *work) waiter() waiter { return backupWaiter(client.ObjectKeyFromObject(w.backup)) }

func backupWaiter(key types.NamespacedName) waiter { return waiter{kindBackup, key} }

// Reconcile is one pass. It is level-based: it looks at everything again, whatever woke it.
func (r *Backups) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w := &work{Backups: r, backup: &v1alpha1.NginxBackup{}, now: r.Clock.Now()}
	if err := r.Client.Get(ctx, req.NamespacedName, w.backup); err != nil {
		r.Jobs.Queue.leave(ctx, backupWaiter(req.NamespacedName))
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var err error
	if w.tasks, err = r.Jobs.of(ctx, v1alpha1.LabelBackup, w.backup); err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case w.backup.DeletionTimestamp != nil:
		return w.remove(ctx)
	case plan.Good(w.backup):
		return ctrl.Result{}, w.tidy(ctx)
	case plan.Lost(w.backup):
		// The listing that finds the data again lets it be verified.
		w.Queue.leave(ctx, w.waiter())
		return ctrl.Result{}, nil
	case plan.Written(w.backup):
		return w.adopt(ctx)
	}
	return w.create(ctx)
}

// create brings the backup about.
func (w *work) create(ctx context.Context) (ctrl.Result, error) {
	if _, err := location.Parse(w.backup.Spec.Destination.URL); err != nil {
		// The spec cannot be changed: whoever made it makes another.
		return ctrl.Result{}, w.tell(ctx, outcome.Unfinished(w.backup, v1alpha1.ReasonDestinationInvalid, err.Error()))
	}
	verdict := progress.Judge(w.jobsOf(job.Create), w.podsOf(job.Create), w.now)
	switch verdict.Step {
	case progress.Done:
		return ctrl.Result{}, w.complete(ctx, verdict.Result)
	case progress.Wait:
		if verdict.Reason == v1alpha1.ReasonPodNotStarted {
			w.Queue.move(ctx)
		}
		if verdict.Attempt > 1 && verdict.Reason == v1alpha1.ReasonInProgress && outcome.Failing(w.backup) != nil {
			// What the attempt before has said is worth more than that there is another.
			return ctrl.Result{RequeueAfter: verdict.After}, nil
		}
		return ctrl.Result{RequeueAfter: verdict.After}, w.tell(ctx, outcome.Unfinished(w.backup, verdict.Reason, verdict.Message))
	case progress.Start:
		if w.backup.Status.StartTime != nil && w.Queue.full(ctx, w.waiter()) {
			// It is recorded, and in the line: nothing has to be read to tell.
			return ctrl.Result{RequeueAfter: queuePause}, nil
		}
	}
	return w.start(ctx, verdict)
}

// start records what is to be backed up, unless it has been, and starts a job.
func (w *work) start(ctx context.Context, verdict progress.Verdict) (ctrl.Result, error) {
	recorded, pieces, err := w.source(ctx)
	switch {
	case apierrors.IsNotFound(err):
		w.Queue.leave(ctx, w.waiter())
		return ctrl.Result{}, w.tell(ctx, outcome.Unfinished(w.backup, v1alpha1.ReasonTargetNotFound,
			fmt.Sprintf("there is no NginxOperator %s in namespace %s", w.backup.Spec.Target.Name, w.backup.Namespace)))
	case isSource(err):
		return ctrl.Result{RequeueAfter: sourcePause}, w.tell(ctx, outcome.Unfinished(w.backup, v1alpha1.ReasonSourceFailed, err.Error()))
	case refused(err) || isForeign(err):
		return ctrl.Result{}, errors.Join(err, w.tell(ctx, outcome.Unfinished(w.backup, v1alpha1.ReasonJobNotCreated, err.Error())))
	case err != nil:
		return ctrl.Result{}, err
	}
	j, err := job.ForCreate(w.backup, *recorded, pieces, verdict.Attempt, w.Image)
	if err != nil {
		return ctrl.Result{}, err
	}
	// From now on there may be data.
	if err := w.keepData(ctx); err != nil {
		return ctrl.Result{}, err
	}
	started, err := w.Queue.start(ctx, w.waiter(), func() error { return w.startJob(ctx, j) })
	switch {
	case err != nil:
		return ctrl.Result{}, errors.Join(err, w.tell(ctx, outcome.Recorded(w.backup, *recorded, v1alpha1.ReasonJobNotCreated, err.Error())))
	case !started:
		return ctrl.Result{RequeueAfter: queuePause}, w.tell(ctx, outcome.Recorded(w.backup, *recorded, v1alpha1.ReasonInProgress, "Other backups are written first"))
	}
	countFailure(verdict)
	return ctrl.Result{}, w.tell(ctx, outcome.Recorded(w.backup, *recorded, verdict.Reason, verdict.Message))
}

// sourcePause is how long to wait until an application is recorded again that could not be.
const sourcePause = 10 * time.Minute

func isSource(err error) bool {
	_, source := errors.AsType[*sourceError](err)
	return source
}

// refused tells of errors that a user can do something about: quotas, validation, admission, and
// webhooks, which choose their answers, and are an internal error where they are down.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsInternalError(err)
}
