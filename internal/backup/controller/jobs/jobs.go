// Package jobs starts the jobs of the backup operator, and bounds how many run at a time.
package jobs

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/progress"
	"example.com/nginx-operator/internal/kube/owned"
)

// QueueRetry is the interval at which an object in the queue checks by itself whether there is
// room.
const QueueRetry = time.Minute

// QueuedMessage is the message of the condition of an object in the queue.
const QueuedMessage = "Waiting for other jobs: --backup-jobs limits how many run at the same time"

// Runner lists and starts jobs.
type Runner struct {
	// Client reads jobs from the cache.
	Client client.Client
	// Live bypasses the caches.
	Live client.Reader
	// PodReader reads the pods of jobs.
	PodReader client.Reader
	// Queue bounds how many jobs run at a time.
	Queue *Queue
	// PodOptions are what the pods of all jobs have in common.
	PodOptions job.PodOptions
	// Keys returns the private keys that jobs are marked with, the newest first. It waits until they
	// have been read, and returns none if they could not be read.
	Keys func(context.Context) []ed25519.PrivateKey
}

// Set holds the jobs of one object, and their pods.
type Set struct {
	*Runner
	owner client.Object
	keys  []ed25519.PrivateKey
	// Jobs and Pods claim to belong to the object, which anyone can write. Use them only to delete
	// them, or to wait for them. MarkedJobs are those of the operator.
	Jobs []batchv1.Job
	Pods []corev1.Pod
}

// List lists the jobs of an object, which carry its name in a label, and their pods.
func (r *Runner) List(ctx context.Context, label string, owner client.Object) (Set, error) {
	found := Set{Runner: r, owner: owner, keys: r.Keys(ctx)}
	selector := []client.ListOption{client.InNamespace(owner.GetNamespace()), client.MatchingLabels{label: owner.GetName()}}
	jobs := &batchv1.JobList{}
	if err := r.Client.List(ctx, jobs, selector...); err != nil {
		return found, fmt.Errorf("list the jobs: %w", err)
	}
	for _, j := range jobs.Items {
		if Owned(&j, owner.GetUID()) {
			found.Jobs = append(found.Jobs, j)
		}
	}
	pods := &corev1.PodList{}
	if err := r.PodReader.List(ctx, pods, selector...); err != nil {
		return found, fmt.Errorf("list the pods: %w", err)
	}
	found.Pods = pods.Items
	return found, nil
}

// JobsOfTask returns the jobs of a task.
func (t *Set) JobsOfTask(task job.Task) []batchv1.Job {
	var found []batchv1.Job
	for _, j := range t.Jobs {
		if j.Labels[job.LabelTask] == string(task) {
			found = append(found, j)
		}
	}
	return found
}

// MarkedJobs returns the jobs of a task that the operator has created. A job of an operator that ended before it marked the
// job is not one of them, nor is one of an earlier release, which did not mark jobs: the task is started again.
func (t *Set) MarkedJobs(task job.Task) []batchv1.Job {
	return slices.DeleteFunc(t.JobsOfTask(task), func(j batchv1.Job) bool { return !t.marked(&j) })
}

func (t *Set) marked(j *batchv1.Job) bool { return job.Marked(t.keys, j, t.owner.GetUID()) }

// Evaluate decides the next step of a task from the operator's own jobs. A new job gets a number that no job has: the pod of
// one without a mark may still write, and the job is deleted only when the new one exists.
func (t *Set) Evaluate(task job.Task, now time.Time) progress.Verdict {
	v := progress.Evaluate(task, t.MarkedJobs(task), t.PodsOfTask(task), now)
	if v.Action != progress.Start {
		return v
	}
	taken := map[int]bool{}
	for _, j := range t.JobsOfTask(task) {
		taken[job.Attempt(&j)] = true
	}
	for range taken {
		if taken[v.Attempt] {
			v.Attempt = job.Next(v.Attempt)
		}
	}
	return v
}

// PodsOfTask returns the pods of a task.
func (t *Set) PodsOfTask(task job.Task) []corev1.Pod {
	var found []corev1.Pod
	for _, pod := range t.Pods {
		if pod.Labels[job.LabelTask] == string(task) {
			found = append(found, pod)
		}
	}
	return found
}

// Owned reports whether an object has an owner reference to the UID.
func Owned(object client.Object, owner types.UID) bool {
	for _, reference := range object.GetOwnerReferences() {
		if reference.UID == owner {
			return true
		}
	}
	return false
}

// VerifyFresh returns an error if the object differs from the one in the cache. An operator that
// has just started may see the object from before its jobs and repeat them: a completed backup
// would be overwritten with the state of today, and a restore repeated.
func (t *Set) VerifyFresh(ctx context.Context) error {
	kind, err := t.Client.GroupVersionKindFor(t.owner)
	if err != nil {
		return err
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	err = t.Live.Get(ctx, client.ObjectKeyFromObject(t.owner), live)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %s %s is gone", owned.ErrStaleCache, kind.Kind, t.owner.GetName())
	case err != nil:
		return fmt.Errorf("read %s %s: %w", kind.Kind, t.owner.GetName(), err)
	case live.UID != t.owner.GetUID() || live.ResourceVersion != t.owner.GetResourceVersion():
		return fmt.Errorf("%w: %s %s has changed since", owned.ErrStaleCache, kind.Kind, t.owner.GetName())
	}
	return nil
}

var errNoKey = errors.New("the operator has no key to mark its jobs with: see its log")

// StartJob creates a job, marks it, and then deletes the ones before it, so that there is always one
// that records the number of attempts.
func (t *Set) StartJob(ctx context.Context, j *batchv1.Job) error {
	if err := t.create(ctx, j); err != nil {
		return fmt.Errorf("create job %s: %w", j.Name, err)
	}
	log.FromContext(ctx).Info("started a job", "job", j.Name, "attempt", job.Attempt(j))
	return t.DeleteJobs(ctx, t.JobsOfTask(job.Task(j.Labels[job.LabelTask])))
}

func (t *Set) create(ctx context.Context, j *batchv1.Job) error {
	if len(t.keys) == 0 {
		return errNoKey
	}
	// Nothing runs before the job is marked: what its pod did would count for no job.
	j.Spec.Suspend = new(true)
	if err := t.Client.Create(ctx, j); err != nil {
		if apierrors.IsAlreadyExists(err) && t.isOwn(ctx, j) {
			return nil
		}
		return err
	}
	// Only now does the job have a UID.
	unmarked := j.DeepCopy()
	job.SetMark(t.keys[0], j)
	j.Spec.Suspend = new(false)
	if err := t.Client.Patch(ctx, j, client.MergeFrom(unmarked)); err != nil {
		return fmt.Errorf("mark and start the job: %w", err)
	}
	return nil
}

// isOwn reports whether the operator has created a job that already exists: another leader may have
// done so.
func (t *Set) isOwn(ctx context.Context, j *batchv1.Job) bool {
	live := &batchv1.Job{}
	return t.Client.Get(ctx, client.ObjectKeyFromObject(j), live) == nil && t.marked(live)
}

// DeleteJobs deletes jobs, unless another job has taken the name.
func (t *Set) DeleteJobs(ctx context.Context, jobs []batchv1.Job) error {
	for i := range jobs {
		err := t.Client.Delete(ctx, &jobs[i], client.PropagationPolicy("Background"), client.Preconditions{UID: &jobs[i].UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete job %s: %w", jobs[i].Name, err)
		}
	}
	return nil
}
