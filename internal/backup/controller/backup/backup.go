// Package backup reconciles NginxBackups.
package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/progress"
)

// Reconciler carries out NginxBackups.
type Reconciler struct {
	// Client reads its own kinds and jobs from the cache.
	Client client.Client
	// Live bypasses the caches. The ConfigMaps of snapshots and what they record are read once.
	Live     client.Client
	Runner   *jobs.Runner
	Recorder events.EventRecorder
	// Memory is shared with the controller of NginxRestores.
	Memory *controller.Memory
	// Version is the operator's version.
	Version string
	Clock   clock.PassiveClock
}

// pass is one reconciliation of one backup.
type pass struct {
	*Reconciler
	jobs.Set
	backup *v1alpha1.NginxBackup
	now    time.Time
}

// waiter returns the backup as an object in the queue.
func (p *pass) waiter() jobs.Waiter { return backupWaiter(client.ObjectKeyFromObject(p.backup)) }

func backupWaiter(key types.NamespacedName) jobs.Waiter {
	return jobs.Waiter{Kind: Kind, NamespacedName: key}
}

// Reconcile is level-based: each pass looks at everything again, whatever triggered it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, err := r.observe(ctx, req.NamespacedName)
	if p == nil || err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case p.backup.DeletionTimestamp != nil:
		return p.deleteData(ctx)
	case plan.Good(p.backup):
		return ctrl.Result{}, p.cleanUp(ctx)
	case plan.Lost(p.backup):
		// If a listing finds the data again, it is verified.
		p.Queue.Remove(ctx, p.waiter())
		return ctrl.Result{}, nil
	case plan.Written(p.backup):
		return p.verifyExisting(ctx)
	}
	return p.runCreateJob(ctx)
}

// observe reads a backup with its jobs. It returns nil if there is none.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*pass, error) {
	p := &pass{Reconciler: r, backup: &v1alpha1.NginxBackup{}, now: r.Clock.Now()}
	if err := r.Client.Get(ctx, key, p.backup); err != nil {
		r.Runner.Queue.Remove(ctx, backupWaiter(key))
		return nil, client.IgnoreNotFound(err)
	}
	var err error
	p.Set, err = r.Runner.List(ctx, v1alpha1.LabelBackup, p.backup)
	return p, err
}

// runCreateJob writes the backup's data, or continues with it.
func (p *pass) runCreateJob(ctx context.Context) (ctrl.Result, error) {
	if _, err := location.Parse(p.backup.Spec.Destination.URL); err != nil {
		// The spec is immutable: the user has to create another backup.
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Unfinished(p.backup, v1alpha1.ReasonDestinationInvalid, err.Error()))
	}
	verdict := p.Evaluate(job.Create, p.now)
	switch verdict.Action {
	case progress.Done:
		return ctrl.Result{}, p.complete(ctx, verdict.Result)
	case progress.Wait:
		if verdict.Reason == v1alpha1.ReasonPodNotStarted {
			p.Queue.WakeNext(ctx)
		}
		if verdict.Attempt > 1 && verdict.Reason == v1alpha1.ReasonInProgress && outcome.Failing(p.backup) != nil {
			// Keep the message of the attempt that failed: it says more than that another one is
			// running.
			return ctrl.Result{RequeueAfter: verdict.After}, nil
		}
		return ctrl.Result{RequeueAfter: verdict.After}, p.updateStatus(ctx, outcome.Unfinished(p.backup, verdict.Reason, verdict.Message))
	case progress.Start:
		if p.backup.Status.StartTime != nil && p.Queue.EnqueueIfFull(ctx, p.waiter()) {
			// The snapshot exists and the backup is queued, so there is nothing to read.
			return ctrl.Result{RequeueAfter: jobs.QueueRetry}, nil
		}
	}
	return p.start(ctx, verdict)
}

// start takes the snapshot, unless there is one, and starts a job.
func (p *pass) start(ctx context.Context, verdict progress.Verdict) (ctrl.Result, error) {
	recorded, pieces, err := p.source(ctx)
	switch {
	case apierrors.IsNotFound(err):
		p.Queue.Remove(ctx, p.waiter())
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Unfinished(p.backup, v1alpha1.ReasonTargetNotFound,
			fmt.Sprintf("there is no NginxOperator %s in namespace %s: the backup waits for it", p.backup.Spec.Target.Name, p.backup.Namespace)))
	case errors.Is(err, controller.ErrNoMemory):
		return ctrl.Result{RequeueAfter: controller.MemoryRetry}, p.updateStatus(ctx, outcome.Unfinished(p.backup, v1alpha1.ReasonInProgress, controller.MemoryMessage))
	case isSourceError(err):
		return ctrl.Result{RequeueAfter: sourceRetry}, p.updateStatus(ctx, outcome.Unfinished(p.backup, v1alpha1.ReasonSourceFailed, err.Error()))
	case controller.Refused(err) || isNotOwned(err):
		return ctrl.Result{}, errors.Join(err, p.updateStatus(ctx, outcome.Unfinished(p.backup, v1alpha1.ReasonJobNotCreated, err.Error())))
	case err != nil:
		return ctrl.Result{}, err
	}
	j, err := job.ForCreate(p.backup, *recorded, pieces, verdict.Attempt, p.PodOptions)
	if err != nil {
		return ctrl.Result{}, err
	}
	// From here on there may be data.
	if err := p.syncFinalizer(ctx); err != nil {
		return ctrl.Result{}, err
	}
	started, err := p.Queue.StartOrEnqueue(ctx, p.waiter(), func() error { return p.StartJob(ctx, j) })
	switch {
	case err != nil:
		return ctrl.Result{}, errors.Join(err, p.updateStatus(ctx, outcome.Recorded(p.backup, *recorded, v1alpha1.ReasonJobNotCreated, err.Error())))
	case !started:
		return ctrl.Result{RequeueAfter: jobs.QueueRetry}, p.updateStatus(ctx, outcome.Recorded(p.backup, *recorded, v1alpha1.ReasonInProgress, jobs.QueuedMessage))
	}
	jobs.CountFailure(verdict)
	return ctrl.Result{}, p.updateStatus(ctx, outcome.Recorded(p.backup, *recorded, verdict.Reason, verdict.Message))
}

// sourceRetry is the time until an application that could not be recorded is recorded again.
const sourceRetry = 10 * time.Minute

func isSourceError(err error) bool {
	_, source := errors.AsType[*sourceError](err)
	return source
}
