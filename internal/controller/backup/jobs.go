package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/backup/job"
)

// queuePause is after which time an object in the line looks for itself whether it is its turn.
const queuePause = time.Minute

// Jobs are where jobs are found and started.
type Jobs struct {
	// Client has the jobs in its cache.
	Client client.Client
	// Live reads past the caches.
	Live client.Reader
	// Pods reads the pods of jobs.
	Pods client.Reader
	// Queue bounds how many of them there are.
	Queue *Queue
	// Image has the program that they run.
	Image string
}

// tasks are the jobs of one object, and their pods.
type tasks struct {
	*Jobs
	owner client.Object
	jobs  []batchv1.Job
	pods  []corev1.Pod
}

// of reads the jobs of an object, which a label of theirs names, and their pods.
func (r *Jobs) of(ctx context.Context, label string, owner client.Object) (tasks, error) {
	found := tasks{Jobs: r, owner: owner}
	selector := []client.ListOption{client.InNamespace(owner.GetNamespace()), client.MatchingLabels{label: owner.GetName()}}
	jobs := &batchv1.JobList{}
	if err := r.Client.List(ctx, jobs, selector...); err != nil {
		return found, fmt.Errorf("list the jobs: %w", err)
	}
	for _, j := range jobs.Items {
		if owned(&j, owner.GetUID()) {
			found.jobs = append(found.jobs, j)
		}
	}
	pods := &corev1.PodList{}
	if err := r.Pods.List(ctx, pods, selector...); err != nil {
		return found, fmt.Errorf("list the pods: %w", err)
	}
	found.pods = pods.Items
	return found, nil
}

// jobsOf are the jobs of a task.
func (t *tasks) jobsOf(task job.Task) []batchv1.Job {
	var found []batchv1.Job
	for _, j := range t.jobs {
		if j.Labels[job.LabelTask] == string(task) {
			found = append(found, j)
		}
	}
	return found
}

// podsOf are the pods of a task.
func (t *tasks) podsOf(task job.Task) []corev1.Pod {
	var found []corev1.Pod
	for _, pod := range t.pods {
		if pod.Labels[job.LabelTask] == string(task) {
			found = append(found, pod)
		}
	}
	return found
}

func owned(object client.Object, owner types.UID) bool {
	for _, reference := range object.GetOwnerReferences() {
		if reference.UID == owner {
			return true
		}
	}
	return false
}

// errBehind tells that an object is not what the caches show. It passes: they catch up.
var errBehind = errors.New("the caches lag behind")

// current makes sure that the object is as the caches show it. An operator that has just been started may
// see it as it was before its jobs, and would have it all done again: a backup would be written over by what
// there is today, and what was restored restored once more.
func (t *tasks) current(ctx context.Context) error {
	kind, err := t.Client.GroupVersionKindFor(t.owner)
	if err != nil {
		return err
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	err = t.Live.Get(ctx, client.ObjectKeyFromObject(t.owner), live)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %s %s is gone", errBehind, kind.Kind, t.owner.GetName())
	case err != nil:
		return fmt.Errorf("read %s %s: %w", kind.Kind, t.owner.GetName(), err)
	case live.UID != t.owner.GetUID() || live.ResourceVersion != t.owner.GetResourceVersion():
		return fmt.Errorf("%w: %s %s has changed since", errBehind, kind.Kind, t.owner.GetName())
	}
	return nil
}

// startJob creates a job, and then deletes the one before it: there is always one that
// remembers the number of attempts.
func (t *tasks) startJob(ctx context.Context, j *batchv1.Job) error {
	err := t.Client.Create(ctx, j)
	if apierrors.IsAlreadyExists(err) && t.isOwn(ctx, j) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("create job %s: %w", j.Name, err)
	}
	log.FromContext(ctx).Info("started a job", "job", j.Name, "attempt", job.Attempt(j))
	return t.deleteJobs(ctx, t.jobsOf(job.Task(j.Labels[job.LabelTask])))
}

// isOwn tells whether a job that exists already is one of this object: another leader may have
// been faster.
func (t *tasks) isOwn(ctx context.Context, j *batchv1.Job) bool {
	live := &batchv1.Job{}
	return t.Client.Get(ctx, client.ObjectKeyFromObject(j), live) == nil && owned(live, t.owner.GetUID())
}

func (t *tasks) deleteJobs(ctx context.Context, jobs []batchv1.Job) error {
	for i := range jobs {
		err := t.Client.Delete(ctx, &jobs[i], client.PropagationPolicy("Background"), client.Preconditions{UID: &jobs[i].UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete job %s: %w", jobs[i].Name, err)
		}
	}
	return nil
}
