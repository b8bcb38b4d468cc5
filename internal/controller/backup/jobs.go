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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
)

// queuePause is after which time a backup in the line looks for itself whether it is its turn.
const queuePause = time.Minute

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

func owned(object client.Object, backup *v1alpha1.NginxBackup) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == backup.UID {
			return true
		}
	}
	return false
}

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
