// Package restore reconciles NginxRestores.
package restore

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

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

// Reconciler carries out NginxRestores.
//
// A first job verifies the archive and serves its declarations. A second one compares volumes with
// the archive, a third one writes their files. Then the operator writes the ConfigMaps, and last the
// NginxOperator. Nothing is written while there is any known conflict.
type Reconciler struct {
	// Client reads its own kinds, NginxOperators and jobs from the cache.
	Client client.Client
	// Live reads and writes the restored objects past the caches.
	Live     client.Client
	Runner   *jobs.Runner
	HTTP     *http.Client
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Memory is shared with the controller of NginxBackups.
	Memory *controller.Memory

	locks locks
}

// pass is one reconciliation of one restore.
type pass struct {
	*Reconciler
	jobs.Set
	restore *v1alpha1.NginxRestore
	now     time.Time
	use     *controller.MemoryUse
}

func (p *pass) waiter() jobs.Waiter {
	return jobs.Waiter{Kind: Kind, NamespacedName: client.ObjectKeyFromObject(p.restore)}
}

// Reconcile is level-based until the restore has ended. It does not revert later changes to the
// application.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, err := r.observe(ctx, req.NamespacedName)
	if p == nil || err != nil {
		return ctrl.Result{}, err
	}
	if outcome.RestoreFinished(p.restore) {
		return p.verify(ctx)
	}
	source, ok, err := p.source(ctx)
	if err != nil || !ok {
		return ctrl.Result{}, err
	}
	return p.restoreFrom(ctx, source)
}

// observe reads a restore with its jobs. It returns nil if there is none.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*pass, error) {
	p := &pass{Reconciler: r, restore: &v1alpha1.NginxRestore{}, now: r.Clock.Now()}
	err := r.Client.Get(ctx, key, p.restore)
	if err != nil || p.restore.DeletionTimestamp != nil {
		// The garbage collector deletes its jobs.
		r.Runner.Queue.Remove(ctx, jobs.Waiter{Kind: Kind, NamespacedName: key})
		return nil, client.IgnoreNotFound(err)
	}
	p.Set, err = r.Runner.List(ctx, v1alpha1.LabelRestore, p.restore)
	return p, err
}

// source returns the backup to restore; ok is false if there is none that can be restored.
func (p *pass) source(ctx context.Context) (source job.RestoreSource, ok bool, err error) {
	source, reason, message, err := p.find(ctx)
	if err != nil {
		return source, false, err
	}
	if reason == "" {
		if _, err := location.Parse(source.Destination.URL); err != nil {
			reason, message = v1alpha1.ReasonDestinationInvalid, err.Error()
		}
	}
	if reason == "" {
		return source, true, nil
	}
	p.Queue.Remove(ctx, p.waiter())
	return source, false, p.updateStatus(ctx, outcome.Unrestored(p.restore, reason, message))
}

func (p *pass) find(ctx context.Context) (source job.RestoreSource, reason, message string, err error) {
	if at := p.restore.Spec.Location; at != nil {
		if namespace, _, _ := strings.Cut(at.Path, "/"); namespace != p.restore.Namespace {
			return source, v1alpha1.ReasonNotUsable, fmt.Sprintf(
				"location.path belongs to namespace %s, and can be restored only there: this is namespace %s", namespace, p.restore.Namespace), nil
		}
		return job.RestoreSource{Destination: at.Destination, Key: at.Path}, "", "", nil
	}
	backup := &v1alpha1.NginxBackup{}
	name := p.restore.Spec.Backup.Name
	err = client.IgnoreNotFound(p.Client.Get(ctx, client.ObjectKey{Namespace: p.restore.Namespace, Name: name}, backup))
	switch {
	case err != nil:
		return source, "", "", err
	case backup.UID == "" || backup.DeletionTimestamp != nil:
		return source, v1alpha1.ReasonBackupNotFound, fmt.Sprintf("there is no NginxBackup %s in namespace %s: the restore waits for it", name, p.restore.Namespace), nil
	case !plan.Good(backup):
		return source, v1alpha1.ReasonBackupNotCompleted, fmt.Sprintf("NginxBackup %s is not completed: the restore waits for it", name), nil
	}
	return job.RestoreSource{
		Destination: backup.Spec.Destination,
		Key:         job.Key(backup),
		SHA256:      strings.TrimPrefix(backup.Status.Digest, "sha256:"),
	}, "", "", nil
}

// restoreFrom goes through the tasks as far as possible in this pass.
func (p *pass) restoreFrom(ctx context.Context, source job.RestoreSource) (ctrl.Result, error) {
	for _, task := range []job.Task{job.Match, job.Extract} {
		verdict := p.Evaluate(task, p.now)
		if stop := verdict.Action == progress.Wait || outcome.Final(verdict.Reason); stop {
			return p.reportWaiting(ctx, verdict, volumeRestoreMessages[task])
		}
	}
	pod := progress.ReadyPod(p.MarkedJobs(job.Read), p.PodsOfTask(job.Read))
	if pod == nil {
		return p.read(ctx, source)
	}
	return p.execute(ctx, source, pod)
}

// read starts the job that reads the backup, or reports its progress.
func (p *pass) read(ctx context.Context, source job.RestoreSource) (ctrl.Result, error) {
	verdict := p.Evaluate(job.Read, p.now)
	if verdict.Action != progress.Start || outcome.Final(verdict.Reason) {
		if verdict.Reason == v1alpha1.ReasonPodNotStarted {
			p.Queue.WakeNext(ctx)
		}
		return p.reportWaiting(ctx, verdict, "The backup is being read")
	}
	if err := p.VerifyFresh(ctx); err != nil {
		return ctrl.Result{}, err
	}
	j, err := job.ForRead(p.restore, source, verdict.Attempt, p.PodOptions)
	if err != nil {
		return ctrl.Result{}, err
	}
	started, err := p.Queue.StartOrEnqueue(ctx, p.waiter(), func() error { return p.StartJob(ctx, j) })
	return p.reportStart(ctx, verdict, started, err)
}

// reportStart reports that a job was started, or why not.
func (p *pass) reportStart(ctx context.Context, verdict progress.Verdict, started bool, err error) (ctrl.Result, error) {
	if err != nil {
		return ctrl.Result{}, p.reportError(ctx, v1alpha1.ReasonJobNotCreated, err)
	}
	if !started {
		return ctrl.Result{RequeueAfter: jobs.QueueRetry}, p.updateStatus(ctx, outcome.Unrestored(p.restore, v1alpha1.ReasonInProgress, jobs.QueuedMessage))
	}
	jobs.CountFailure(verdict)
	return ctrl.Result{}, p.updateStatus(ctx, outcome.Unrestored(p.restore, verdict.Reason, verdict.Message))
}

// reportWaiting reports what the restore waits for.
func (p *pass) reportWaiting(ctx context.Context, verdict progress.Verdict, doing string) (ctrl.Result, error) {
	message := verdict.Message
	if verdict.Reason == v1alpha1.ReasonInProgress {
		message = doing
		if verdict.Attempt > 1 && outcome.FindFailingCondition(p.restore.Status.Conditions) != nil {
			// Keep the message of the attempt that failed: it says more than that another one is
			// running.
			return ctrl.Result{RequeueAfter: verdict.After}, nil
		}
	}
	return ctrl.Result{RequeueAfter: verdict.After}, p.updateStatus(ctx, outcome.Unrestored(p.restore, verdict.Reason, message))
}

// reportError reports an error that the user may be able to remove, and returns it for a retry.
func (p *pass) reportError(ctx context.Context, reason string, err error) error {
	if statusErr := p.updateStatus(ctx, outcome.Unrestored(p.restore, reason, err.Error())); statusErr != nil {
		return fmt.Errorf("%w (%w)", err, statusErr)
	}
	return err
}

// verify deletes the jobs of a restore that has ended, and reports whether the application serves what
// was restored.
func (p *pass) verify(ctx context.Context) (ctrl.Result, error) {
	if err := p.DeleteJobs(ctx, p.Jobs); err != nil {
		return ctrl.Result{}, err
	}
	if !outcome.Unproven(p.restore, p.now) {
		return ctrl.Result{}, nil
	}
	nginx, err := p.target(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	status, after := outcome.Verified(p.restore, nginx, p.now)
	return ctrl.Result{RequeueAfter: after}, p.updateStatus(ctx, status)
}
