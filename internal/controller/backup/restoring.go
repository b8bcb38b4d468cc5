package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/handover"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/restoration"
)

// carryOut restores what a pod has read. One at a time: of what can be large, not much shall be
// in memory.
func (w *restoring) carryOut(ctx context.Context, source job.Source, pod *corev1.Pod) (ctrl.Result, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	head, files, err := handover.Fetch(ctx, w.HTTP, pod.Status.PodIP, job.Token(w.restore))
	if err != nil {
		return ctrl.Result{}, w.failed(ctx, v1alpha1.ReasonUnreachable, fmt.Errorf(
			"pod %s has read the backup, and does not tell what is in it (does a NetworkPolicy keep the operator from port %d?): %w", pod.Name, handover.Port, err))
	}
	backup, err := restoration.Parse(head.Info, files, w.restore.Namespace)
	if err != nil {
		return ctrl.Result{}, w.tell(ctx, outcome.Unrestored(w.restore, v1alpha1.ReasonNotUsable, err.Error()))
	}
	wish := restoration.WishOf(w.restore, backup)
	holder, err := w.holder(ctx, wish.Target)
	if err != nil {
		return ctrl.Result{}, err
	}
	if holder != "" {
		return ctrl.Result{RequeueAfter: turnPause}, w.tell(ctx, outcome.Unrestored(w.restore, v1alpha1.ReasonInProgress,
			fmt.Sprintf("NginxRestore %s of the same application comes first: wait for it, or delete it", holder)))
	}
	// All jobs are to read the same archive, where no object tells its digest.
	source.SHA256 = head.SHA256
	return w.plan(ctx, source, wish, backup)
}

// plan looks at what there is, decides what is to be changed, and goes on with it if nothing is
// against it.
func (w *restoring) plan(ctx context.Context, source job.Source, wish restoration.Wish, backup restoration.Backup) (ctrl.Result, error) {
	live, err := w.look(ctx, wish, backup)
	if err != nil {
		return ctrl.Result{}, err
	}
	if what := live.Deleting(); what != "" {
		// That it is gone may be known before it is known that it is waited for.
		return ctrl.Result{RequeueAfter: deletingPause}, w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, nil,
			v1alpha1.ReasonTargetDeleting, what+" is being deleted"))
	}
	plan, err := restoration.Make(wish, backup, live)
	if err != nil {
		return ctrl.Result{}, w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, nil, v1alpha1.ReasonNotUsable, err.Error()))
	}
	if len(plan.Conflicts) > 0 && w.restore.Spec.OnConflict != v1alpha1.ConflictOverwrite && !job.DryRun(w.restore) {
		return ctrl.Result{}, w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, plan.Changes,
			v1alpha1.ReasonConflict, outcome.Conflict(plan.Conflicts, plan.Begun || w.extracted())))
	}
	if err := w.write(ctx, client.NewDryRunClient(w.Live), plan); err != nil {
		return ctrl.Result{}, w.unwritten(ctx, wish, backup, plan, err)
	}
	return w.follow(ctx, source, wish, backup, plan)
}

// deletingPause is after which time it is looked again whether what is being deleted is gone.
const deletingPause = 5 * time.Second

// unwritten tells what the API server has against an object, and has it tried again: quotas are
// raised, and policies lifted.
func (w *restoring) unwritten(ctx context.Context, wish restoration.Wish, backup restoration.Backup, plan restoration.Plan, err error) error {
	if !refused(err) {
		return err
	}
	return errors.Join(err, w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, plan.Changes, v1alpha1.ReasonWriteRefused, err.Error())))
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
		found, result, err := (&filing{w, source, wish, backup, plan}).carryOut(ctx)
		if found == nil || err != nil {
			return result, err
		}
		plan = plan.WithVolumes(found)
	}
	if job.DryRun(w.restore) {
		return ctrl.Result{}, w.tell(ctx, outcome.Restored(w.restore, wish.Target, backup, plan, w.now))
	}
	// What is about to be changed is told before it is: afterwards it is no change any more.
	if err := w.tell(ctx, outcome.Planned(w.restore, wish.Target, backup, plan.Changes, v1alpha1.ReasonInProgress, "The objects are being written")); err != nil {
		return ctrl.Result{}, err
	}
	if err := w.write(ctx, w.Live, plan); err != nil {
		return ctrl.Result{}, w.unwritten(ctx, wish, backup, plan, err)
	}
	return ctrl.Result{}, w.tell(ctx, outcome.Restored(w.restore, wish.Target, backup, plan, w.now))
}

// write writes the objects. Whoever was faster with one of them makes the API server refuse,
// and everything is looked at again. By a client that only rehearses it, what the API server has
// against one of them is known before anything is changed.
func (w *restoring) write(ctx context.Context, by client.Client, plan restoration.Plan) error {
	for _, cm := range plan.ConfigMaps {
		if err := put(ctx, by, cm.DeepCopy()); err != nil {
			return fmt.Errorf("write ConfigMap %s: %w", cm.Name, err)
		}
	}
	if plan.Nginx == nil {
		return nil
	}
	if err := put(ctx, by, plan.Nginx.DeepCopy()); err != nil {
		return fmt.Errorf("write NginxOperator %s: %w", plan.Nginx.Name, err)
	}
	return nil
}

func put(ctx context.Context, by client.Client, object client.Object) error {
	if object.GetResourceVersion() == "" {
		return by.Create(ctx, object, client.FieldOwner(FieldManager))
	}
	return by.Update(ctx, object, client.FieldOwner(FieldManager))
}

// target is the restored application, as it is after what was just written; nil: there is none.
func (w *restoring) target(ctx context.Context) (*v1alpha2.NginxOperator, error) {
	nginx := &v1alpha2.NginxOperator{}
	err := w.Live.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: w.restore.Status.Target}, nginx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the restored application: %w", err)
	}
	return nginx, nil
}
