package backup

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

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

// Restores carries out NginxRestores.
//
// A first job verifies the archive, and hands over what it declares. A second one compares volumes
// with it, a third one brings their files back. Then the operator writes the ConfigMaps, and the NginxOperator last.
// Nothing is written as long as anything can be found that is against it.
type Restores struct {
	// Client reads its own kinds, NginxOperators and jobs from the cache.
	Client client.Client
	// Live reads and writes past the caches what is restored.
	Live     client.Client
	Jobs     *Jobs
	HTTP     *http.Client
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	reading sync.Mutex
}

// restoring is one pass over one restore.
type restoring struct {
	*Restores
	tasks
	restore *v1alpha1.NginxRestore
	now     time.Time
}

func (w *restoring) waiter() waiter {
	return waiter{kindRestore, client.ObjectKeyFromObject(w.restore)}
}

// Reconcile is one pass. It is level-based, up to the point at which a restore is over: what
// happens to the application afterwards is not the restore's to undo.
func (r *Restores) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w := &restoring{Restores: r, restore: &v1alpha1.NginxRestore{}, now: r.Clock.Now()}
	err := r.Client.Get(ctx, req.NamespacedName, w.restore)
	if err != nil || w.restore.DeletionTimestamp != nil {
		// Its jobs belong to it, and go with it.
		r.Jobs.Queue.leave(ctx, waiter{kindRestore, req.NamespacedName})
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if w.tasks, err = r.Jobs.of(ctx, v1alpha1.LabelRestore, w.restore); err != nil {
		return ctrl.Result{}, err
	}
	if outcome.Over(w.restore) {
		if err := w.deleteJobs(ctx, w.jobs); err != nil {
			return ctrl.Result{}, err
		}
		return w.verify(ctx)
	}
	source, ok, err := w.source(ctx)
	if err != nil || !ok {
		return ctrl.Result{}, err
	}
	return w.restoreFrom(ctx, source)
}

// source is the backup that is restored, if there is one that can be.
func (w *restoring) source(ctx context.Context) (source job.Source, ok bool, err error) {
	source, reason, message, err := w.find(ctx)
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
	w.Queue.leave(ctx, w.waiter())
	return source, false, w.tell(ctx, outcome.Unrestored(w.restore, reason, message))
}

func (w *restoring) find(ctx context.Context) (source job.Source, reason, message string, err error) {
	if at := w.restore.Spec.Location; at != nil {
		if namespace, _, _ := strings.Cut(at.Path, "/"); namespace != w.restore.Namespace {
			return source, v1alpha1.ReasonNotUsable, fmt.Sprintf(
				"location.path is of namespace %s, and can be restored in no other: this is %s", namespace, w.restore.Namespace), nil
		}
		return job.Source{Destination: at.Destination, Key: at.Path}, "", "", nil
	}
	backup := &v1alpha1.NginxBackup{}
	name := w.restore.Spec.Backup.Name
	err = client.IgnoreNotFound(w.Client.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: name}, backup))
	switch {
	case err != nil:
		return source, "", "", err
	case backup.UID == "" || backup.DeletionTimestamp != nil:
		return source, v1alpha1.ReasonBackupNotFound, fmt.Sprintf("there is no NginxBackup %s in namespace %s", name, w.restore.Namespace), nil
	case !plan.Good(backup):
		return source, v1alpha1.ReasonBackupNotCompleted, fmt.Sprintf("NginxBackup %s is not completed", name), nil
	}
	return job.Source{
		Destination: backup.Spec.Destination,
		Key:         job.Key(backup),
		SHA256:      strings.TrimPrefix(backup.Status.Digest, "sha256:"),
	}, "", "", nil
}

// restoreFrom goes as far as is possible now.
func (w *restoring) restoreFrom(ctx context.Context, source job.Source) (ctrl.Result, error) {
	for _, task := range []job.Task{job.Match, job.Extract} {
		jobs := w.jobsOf(task)
		if len(jobs) == 0 {
			continue
		}
		verdict := progress.Judge(jobs, w.podsOf(task), w.now)
		if stop := verdict.Step == progress.Wait || outcome.Final(verdict.Reason); stop {
			return w.await(ctx, verdict, filingWords[task])
		}
	}
	pod := progress.Serving(w.jobsOf(job.Read), w.podsOf(job.Read))
	if pod == nil {
		return w.read(ctx, source)
	}
	return w.carryOut(ctx, source, pod)
}

// read has the backup read by a job.
func (w *restoring) read(ctx context.Context, source job.Source) (ctrl.Result, error) {
	verdict := progress.Judge(w.jobsOf(job.Read), w.podsOf(job.Read), w.now)
	if verdict.Step != progress.Start || outcome.Final(verdict.Reason) {
		if verdict.Reason == v1alpha1.ReasonPodNotStarted {
			w.Queue.move(ctx)
		}
		return w.await(ctx, verdict, "The backup is being read")
	}
	if err := w.current(ctx); err != nil {
		return ctrl.Result{}, err
	}
	j, err := job.ForRead(w.restore, source, verdict.Attempt, w.Image)
	if err != nil {
		return ctrl.Result{}, err
	}
	started, err := w.Queue.start(ctx, w.waiter(), func() error { return w.startJob(ctx, j) })
	return w.started(ctx, verdict, started, err)
}

// started tells that a job was started, or why it was not.
func (w *restoring) started(ctx context.Context, verdict progress.Verdict, started bool, err error) (ctrl.Result, error) {
	if err != nil {
		return ctrl.Result{}, w.failed(ctx, v1alpha1.ReasonJobNotCreated, err)
	}
	if !started {
		return ctrl.Result{RequeueAfter: queuePause}, w.tell(ctx, outcome.Unrestored(w.restore, v1alpha1.ReasonInProgress, "Other jobs come first"))
	}
	countFailure(verdict)
	return ctrl.Result{}, w.tell(ctx, outcome.Unrestored(w.restore, verdict.Reason, verdict.Message))
}

// await tells what is waited for.
func (w *restoring) await(ctx context.Context, verdict progress.Verdict, doing string) (ctrl.Result, error) {
	message := verdict.Message
	if verdict.Reason == v1alpha1.ReasonInProgress {
		message = doing
		if verdict.Attempt > 1 && outcome.Troubled(w.restore.Status.Conditions) != nil {
			// What the attempt before has said is worth more than that there is another.
			return ctrl.Result{RequeueAfter: verdict.After}, nil
		}
	}
	return ctrl.Result{RequeueAfter: verdict.After}, w.tell(ctx, outcome.Unrestored(w.restore, verdict.Reason, message))
}

// failed tells of an error that a user may be able to do something about, and has it tried again.
func (w *restoring) failed(ctx context.Context, reason string, err error) error {
	if tellErr := w.tell(ctx, outcome.Unrestored(w.restore, reason, err.Error())); tellErr != nil {
		return fmt.Errorf("%w (%w)", err, tellErr)
	}
	return err
}

// verify tells whether the application serves what was restored.
func (w *restoring) verify(ctx context.Context) (ctrl.Result, error) {
	if !outcome.Unproven(w.restore, w.now) {
		return ctrl.Result{}, nil
	}
	nginx, err := w.target(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	status, after := outcome.Verified(w.restore, nginx, w.now)
	return ctrl.Result{RequeueAfter: after}, w.tell(ctx, status)
}
