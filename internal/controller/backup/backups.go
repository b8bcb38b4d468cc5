package backup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/progress"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// FieldManager owns the backup operator's fields in server-side apply.
const FieldManager = "nginx-backup-operator"

// Backups carries out NginxBackups.
type Backups struct {
	// Client reads its own kinds and jobs from the cache.
	Client client.Client
	// Live reads and writes past the caches: the ConfigMaps of snapshots and what is recorded
	// in them is looked at once.
	Live client.Client
	// Pods reads the pods of jobs.
	Pods     client.Reader
	Recorder events.EventRecorder
	// Image has the program that the jobs run, Version is the operator's.
	Image, Version string
	Clock          clock.PassiveClock

	queue  *queue
	taking sync.Mutex
}

// work is one pass over one backup.
type work struct {
	*Backups
	backup *v1alpha1.NginxBackup
	jobs   []batchv1.Job
	pods   []corev1.Pod
	now    time.Time
}

// Reconcile is one pass. It is level-based: it looks at everything again, whatever woke it.
func (r *Backups) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w := &work{Backups: r, backup: &v1alpha1.NginxBackup{}, now: r.Clock.Now()}
	if err := r.Client.Get(ctx, req.NamespacedName, w.backup); err != nil {
		r.queue.leave(ctx, req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := w.observe(ctx); err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case w.backup.DeletionTimestamp != nil:
		return w.remove(ctx)
	case plan.Good(w.backup):
		return ctrl.Result{}, w.tidy(ctx)
	}
	return w.create(ctx)
}

// observe reads the jobs of the backup, and their pods.
func (w *work) observe(ctx context.Context) error {
	jobs := &batchv1.JobList{}
	selector := []client.ListOption{client.InNamespace(w.backup.Namespace), client.MatchingLabels{v1alpha1.LabelBackup: w.backup.Name}}
	if err := w.Client.List(ctx, jobs, selector...); err != nil {
		return fmt.Errorf("list the jobs: %w", err)
	}
	for _, j := range jobs.Items {
		if owned(&j, w.backup) {
			w.jobs = append(w.jobs, j)
		}
	}
	pods := &corev1.PodList{}
	if err := w.Pods.List(ctx, pods, selector...); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	w.pods = pods.Items
	return nil
}

func owned(object client.Object, backup *v1alpha1.NginxBackup) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == backup.UID {
			return true
		}
	}
	return false
}

// jobsOf are the jobs of a task.
func (w *work) jobsOf(task job.Task) []batchv1.Job {
	var found []batchv1.Job
	for _, j := range w.jobs {
		if j.Labels[job.LabelTask] == string(task) {
			found = append(found, j)
		}
	}
	return found
}

// podsOf are the pods of a task.
func (w *work) podsOf(task job.Task) []corev1.Pod {
	var found []corev1.Pod
	for _, pod := range w.pods {
		if pod.Labels[job.LabelTask] == string(task) {
			found = append(found, pod)
		}
	}
	return found
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
			w.queue.move(ctx)
		}
		if verdict.Attempt > 1 && verdict.Reason == v1alpha1.ReasonInProgress && outcome.Failing(w.backup) != nil {
			// What the attempt before has said is worth more than that there is another.
			return ctrl.Result{RequeueAfter: verdict.After}, nil
		}
		return ctrl.Result{RequeueAfter: verdict.After}, w.tell(ctx, outcome.Unfinished(w.backup, verdict.Reason, verdict.Message))
	case progress.Start:
	}
	return w.start(ctx, verdict)
}

// start records what is to be backed up, unless it has been, and starts a job.
func (w *work) start(ctx context.Context, verdict progress.Verdict) (ctrl.Result, error) {
	recorded, pieces, err := w.recorded(ctx)
	if err == nil && recorded == nil {
		recorded, pieces, err = w.record(ctx)
	}
	switch {
	case apierrors.IsNotFound(err):
		w.queue.leave(ctx, client.ObjectKeyFromObject(w.backup))
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
	started, err := w.queue.start(ctx, client.ObjectKeyFromObject(w.backup), func() error { return w.startJob(ctx, j) })
	switch {
	case err != nil:
		return ctrl.Result{}, errors.Join(err, w.tell(ctx, outcome.Recorded(w.backup, *recorded, v1alpha1.ReasonJobNotCreated, err.Error())))
	case !started:
		return ctrl.Result{RequeueAfter: queuePause}, w.tell(ctx, outcome.Recorded(w.backup, *recorded, v1alpha1.ReasonInProgress, "Other backups are written first"))
	}
	countFailure(verdict)
	return ctrl.Result{}, w.tell(ctx, outcome.Recorded(w.backup, *recorded, verdict.Reason, verdict.Message))
}

// queuePause is after which time a backup in the line looks for itself whether it is its turn.
const queuePause = time.Minute

// startJob creates a job, and then deletes the one before it: there is always one that
// remembers the number of attempts.
func (w *work) startJob(ctx context.Context, j *batchv1.Job) error {
	err := w.Client.Create(ctx, j)
	if apierrors.IsAlreadyExists(err) && w.isOwn(ctx, j) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("create job %s: %w", j.Name, err)
	}
	log.FromContext(ctx).Info("started a job", "job", j.Name, "attempt", job.Attempt(j))
	return w.deleteJobs(ctx, w.jobsOf(job.Task(j.Labels[job.LabelTask])))
}

// isOwn tells whether a job that exists already is one of this backup: another leader may have
// been faster.
func (w *work) isOwn(ctx context.Context, j *batchv1.Job) bool {
	live := &batchv1.Job{}
	return w.Client.Get(ctx, client.ObjectKeyFromObject(j), live) == nil && owned(live, w.backup)
}

func (w *work) deleteJobs(ctx context.Context, jobs []batchv1.Job) error {
	for i := range jobs {
		err := w.Client.Delete(ctx, &jobs[i], client.PropagationPolicy("Background"), client.Preconditions{UID: &jobs[i].UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete job %s: %w", jobs[i].Name, err)
		}
	}
	return nil
}

// foreignError tells of a ConfigMap whose name a snapshot needs.
type foreignError struct{ name string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("ConfigMap %s exists and does not belong to this backup: delete it", e.name)
}

func isForeign(err error) bool {
	_, foreign := errors.AsType[*foreignError](err)
	return foreign
}

// sourcePause is how long to wait until an application is recorded again that could not be.
const sourcePause = 10 * time.Minute

func isSource(err error) bool {
	_, source := errors.AsType[*sourceError](err)
	return source
}

// refused tells of errors that a user can do something about.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

// recorded is the snapshot that was taken of the target, without its documents; nil: none.
func (w *work) recorded(ctx context.Context) (*snapshot.Snapshot, []string, error) {
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: w.backup.Namespace, Name: job.SnapshotName(w.backup)}
	if err := w.Live.Get(ctx, key, cm); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	if !owned(cm, w.backup) {
		return nil, nil, &foreignError{cm.Name}
	}
	s, pieces, err := job.ReadHead(cm)
	return &s, pieces, err
}

// record takes a snapshot. The ConfigMap that is created last makes it whole.
func (w *work) record(ctx context.Context) (*snapshot.Snapshot, []string, error) {
	s, pieces, err := w.take(ctx)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, cm := range pieces {
		names = append(names, cm.Name)
		if err := w.Live.Create(ctx, cm); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, nil, fmt.Errorf("record the state in ConfigMap %s: %w", cm.Name, err)
		}
	}
	// The one with the head comes first for the job.
	last := len(names) - 1
	names = append([]string{names[last]}, names[:last]...)
	return &s, names, nil
}

// take reads the state of the target and packs it. One at a time: of what can be large, not
// much shall be in memory.
func (w *work) take(ctx context.Context) (s snapshot.Snapshot, pieces []*corev1.ConfigMap, err error) {
	w.taking.Lock()
	defer w.taking.Unlock()
	source, err := gather(ctx, w.Live, w.backup)
	if err != nil {
		return s, nil, err
	}
	if s, err = snapshot.Take(w.backup, source, w.Version, w.now); err != nil {
		return s, nil, &sourceError{err}
	}
	if pieces, err = job.Pieces(w.backup, s); err != nil {
		return s, nil, &sourceError{err}
	}
	return s, pieces, nil
}

// complete tells of the success. What the job needed goes in a later pass: once the success
// is told, nothing of it is needed any more.
func (w *work) complete(ctx context.Context, result job.Result) error {
	recorded, _, err := w.recorded(ctx)
	if err != nil {
		return err
	}
	return w.tell(ctx, outcome.Completed(w.backup, recorded, result))
}

// tidy removes what the job needed: the snapshot, with the pieces of those that an operator did
// not finish that died, and then the jobs, so that as long as there is a job there may be
// something to remove.
func (w *work) tidy(ctx context.Context) error {
	jobs := w.jobsOf(job.Create)
	if len(jobs) == 0 {
		return w.keepData(ctx)
	}
	recorded := &metav1.PartialObjectMetadataList{}
	recorded.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := w.Live.List(ctx, recorded, client.InNamespace(w.backup.Namespace), client.MatchingLabels{v1alpha1.LabelBackup: w.backup.Name}); err != nil {
		return fmt.Errorf("list the ConfigMaps of the snapshot: %w", err)
	}
	for i := range recorded.Items {
		cm := &recorded.Items[i]
		if !owned(cm, w.backup) {
			continue
		}
		if err := w.Live.Delete(ctx, cm); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s: %w", cm.Name, err)
		}
	}
	return errors.Join(w.deleteJobs(ctx, jobs), w.keepData(ctx))
}
