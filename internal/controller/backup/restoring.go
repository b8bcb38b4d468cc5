package backup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/handover"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/progress"
	"example.com/nginx-operator/internal/backup/restoration"
)

// carryOut restores what a pod has read. One at a time: of what can be large, not much shall be
// in memory.
func (w *restoring) carryOut(ctx context.Context, source job.Source, pod *corev1.Pod) (ctrl.Result, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	info, files, err := handover.Fetch(ctx, w.HTTP, pod.Status.PodIP, job.Token(w.restore))
	if err != nil {
		return ctrl.Result{}, w.failed(ctx, v1alpha1.ReasonUnreachable, fmt.Errorf(
			"pod %s has read the backup, and does not tell what is in it (does a NetworkPolicy keep the operator from port %d?): %w", pod.Name, handover.Port, err))
	}
	backup, err := restoration.Parse(info, files, w.restore.Namespace)
	if err != nil {
		return ctrl.Result{}, w.tell(ctx, outcome.Unrestored(w.restore, v1alpha1.ReasonNotUsable, err.Error()))
	}
	wish := restoration.WishOf(w.restore, backup)
	live, err := w.look(ctx, wish, backup)
	if err != nil {
		return ctrl.Result{}, err
	}
	if live.Nginx != nil && live.Nginx.DeletionTimestamp != nil {
		return ctrl.Result{}, w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, nil, v1alpha1.ReasonTargetDeleting,
			fmt.Sprintf("NginxOperator %s is being deleted", wish.Target)))
	}
	plan, err := restoration.Make(wish, backup, live)
	if err != nil {
		return ctrl.Result{}, w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, nil, v1alpha1.ReasonNotUsable, err.Error()))
	}
	if len(plan.Conflicts) > 0 && w.restore.Spec.OnConflict != v1alpha1.ConflictOverwrite && !job.DryRun(w.restore) {
		return ctrl.Result{}, w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, plan.Changes, v1alpha1.ReasonConflict, outcome.Conflict(plan.Conflicts)))
	}
	return w.follow(ctx, source, wish, backup, plan)
}

// look reads what there is of what may be changed.
func (w *restoring) look(ctx context.Context, wish restoration.Wish, backup restoration.Backup) (restoration.Live, error) {
	live := restoration.Live{Nginx: &v1alpha2.NginxOperator{}, ConfigMaps: map[string]*corev1.ConfigMap{}}
	err := w.Live.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: wish.Target}, live.Nginx)
	if apierrors.IsNotFound(err) {
		live.Nginx = nil
	} else if err != nil {
		return live, err
	}
	for _, name := range restoration.ConfigMaps(wish, backup) {
		cm := &corev1.ConfigMap{}
		err := w.Live.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: name}, cm)
		if err == nil {
			live.ConfigMaps[name] = cm
		} else if !apierrors.IsNotFound(err) {
			return live, err
		}
	}
	return live, nil
}

// follow carries a plan out: files first, then ConfigMaps, then the application.
func (w *restoring) follow(ctx context.Context, source job.Source, wish restoration.Wish, backup restoration.Backup, plan restoration.Plan) (ctrl.Result, error) {
	if len(plan.Volumes) > 0 {
		verdict := progress.Judge(w.jobsOf(job.Extract), w.podsOf(job.Extract), w.now)
		if verdict.Step != progress.Done {
			return w.extract(ctx, source, wish, backup, plan, verdict)
		}
		plan = plan.WithVolumes(verdict.Result.Volumes)
	}
	if job.DryRun(w.restore) {
		return ctrl.Result{}, w.tell(ctx, outcome.Restored(w.restore, wish.Target, backup, plan, w.now))
	}
	// What is about to be changed is told before it is: afterwards it is no change any more.
	if err := w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, plan.Changes, v1alpha1.ReasonInProgress, "The objects are being written")); err != nil {
		return ctrl.Result{}, err
	}
	if err := w.write(ctx, plan); err != nil {
		if refused(err) {
			return ctrl.Result{}, w.failed(ctx, v1alpha1.ReasonWriteRefused, err)
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, w.tell(ctx, outcome.Restored(w.restore, wish.Target, backup, plan, w.now))
}

// extract has the files brought back by a job. It does not wait in the line: the job that has
// read the backup is there still, and as many restores as there are places would wait for each
// other.
func (w *restoring) extract(ctx context.Context, source job.Source, wish restoration.Wish, backup restoration.Backup, plan restoration.Plan, verdict progress.Verdict) (ctrl.Result, error) {
	if verdict.Step == progress.Wait {
		return w.await(ctx, verdict, "The files are being brought back")
	}
	j, err := job.ForExtract(w.restore, source, plan, wish.Target, verdict.Attempt, w.Image)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, plan.Changes, verdict.Reason, verdict.Message)); err != nil {
		return ctrl.Result{}, err
	}
	if err := w.startJob(ctx, j); err != nil {
		return ctrl.Result{}, w.failed(ctx, v1alpha1.ReasonJobNotCreated, err)
	}
	countFailure(verdict)
	return ctrl.Result{}, nil
}

// write writes the objects. Whoever was faster with one of them makes the API server refuse,
// and everything is looked at again.
func (w *restoring) write(ctx context.Context, plan restoration.Plan) error {
	for _, cm := range plan.ConfigMaps {
		if err := w.put(ctx, cm); err != nil {
			return fmt.Errorf("write ConfigMap %s: %w", cm.Name, err)
		}
	}
	if plan.Nginx == nil {
		return nil
	}
	if err := w.put(ctx, plan.Nginx); err != nil {
		return fmt.Errorf("write NginxOperator %s: %w", plan.Nginx.Name, err)
	}
	return nil
}

func (w *restoring) put(ctx context.Context, object client.Object) error {
	if object.GetResourceVersion() == "" {
		return w.Live.Create(ctx, object, client.FieldOwner(FieldManager))
	}
	return w.Live.Update(ctx, object, client.FieldOwner(FieldManager))
}

// cached is the application as the cache has it; nil: it has none.
func (w *restoring) cached(ctx context.Context, name string) (*v1alpha2.NginxOperator, error) {
	nginx := &v1alpha2.NginxOperator{}
	err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: name}, nginx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(errors.New("read the restored application"), err)
	}
	return nginx, nil
}
