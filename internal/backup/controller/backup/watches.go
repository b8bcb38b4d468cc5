package backup

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/jobs"
)

// Kind is the kind that the controller reconciles.
const Kind = "NginxBackup"

// SetupWithManager registers the controller and its watches. pods is the cache with the pods of
// jobs.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, pods cache.Cache, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackup").
		For(&v1alpha1.NginxBackup{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, finalizersChanged(), controller.BackupCompleted()))).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(r.backupOfJob), builder.WithPredicates(jobs.JobEnded())).
		Watches(&v1alpha2.NginxOperator{}, handler.EnqueueRequestsFromMapFunc(r.backupsOfTarget), builder.WithPredicates(controller.Created())).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{},
			handler.TypedEnqueueRequestsFromMapFunc(backupOfPod), jobs.PodChanged())).
		WatchesRawSource(r.Runner.Queue.Source(Kind)).
		WithOptions(controller.Options(concurrency)).
		Complete(r)
}

// backupOfJob returns the request for the backup of a job that has ended or was deleted, and wakes
// the next object in the queue.
func (r *Reconciler) backupOfJob(ctx context.Context, j client.Object) []reconcile.Request {
	r.Runner.Queue.WakeNext(ctx)
	return jobs.Requests(j, v1alpha1.LabelBackup)
}

// backupsOfTarget returns the requests for backups that wait for a target that now exists.
func (r *Reconciler) backupsOfTarget(ctx context.Context, nginx client.Object) []reconcile.Request {
	list := &v1alpha1.NginxBackupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(nginx.GetNamespace()), client.MatchingFields{controller.TargetNameIndex: nginx.GetName()},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// Reads from the cache fail only by a programming error.
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the backups that wait for an NginxOperator", "nginxOperator", client.ObjectKeyFromObject(nginx))
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if b := &list.Items[i]; waitsForTarget(b) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	return requests
}

func waitsForTarget(b *v1alpha1.NginxBackup) bool {
	for _, c := range b.Status.Conditions {
		if c.Reason == v1alpha1.ReasonTargetNotFound {
			return true
		}
	}
	return false
}

func backupOfPod(_ context.Context, pod *corev1.Pod) []reconcile.Request {
	return jobs.Requests(pod, v1alpha1.LabelBackup)
}

func finalizersChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !apiequality.Semantic.DeepEqual(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
}
