package restore

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
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
	"example.com/nginx-operator/internal/backup/outcome"
)

// Kind is the kind that the controller reconciles.
const Kind = "NginxRestore"

// SetupWithManager registers the controller and its watches. pods is the cache with the pods of
// jobs.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, pods cache.Cache, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxrestore").
		For(&v1alpha1.NginxRestore{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, restoreEnded()))).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, j client.Object) []reconcile.Request {
			return jobs.Requests(j, v1alpha1.LabelRestore)
		}), builder.WithPredicates(jobs.JobEnded())).
		Watches(&v1alpha1.NginxBackup{}, handler.EnqueueRequestsFromMapFunc(r.restoresOfBackup), builder.WithPredicates(predicate.Or(controller.Created(), controller.BackupCompleted()))).
		Watches(&v1alpha2.NginxOperator{}, handler.EnqueueRequestsFromMapFunc(r.restoresTo)).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{},
			handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
				return jobs.Requests(pod, v1alpha1.LabelRestore)
			}), jobs.PodChanged())).
		WatchesRawSource(r.Runner.Queue.Source(Kind)).
		WithOptions(controller.Options(concurrency)).
		Complete(r)
}

// restoreEnded passes the update that ends a restore: its jobs can be deleted.
func restoreEnded() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.NginxRestore)
		after, ok2 := e.ObjectNew.(*v1alpha1.NginxRestore)
		return ok1 && ok2 && !outcome.RestoreFinished(before) && outcome.RestoreFinished(after)
	}}
}

// restoresOfBackup returns the requests for restores that wait for a backup.
func (r *Reconciler) restoresOfBackup(ctx context.Context, backup client.Object) []reconcile.Request {
	return r.requestsFor(ctx, backup, func(restore *v1alpha1.NginxRestore) bool {
		from := restore.Spec.Backup
		return from != nil && from.Name == backup.GetName() && !outcome.RestoreFinished(restore)
	})
}

// restoresTo returns the requests for restores that depend on the state of an application.
func (r *Reconciler) restoresTo(ctx context.Context, nginx client.Object) []reconcile.Request {
	return r.requestsFor(ctx, nginx, func(restore *v1alpha1.NginxRestore) bool {
		if restore.Status.Target != nginx.GetName() {
			return false
		}
		return outcome.Unproven(restore, r.Clock.Now()) || !outcome.RestoreFinished(restore) && outcome.Waits(restore)
	})
}

func (r *Reconciler) requestsFor(ctx context.Context, of client.Object, concerned func(*v1alpha1.NginxRestore) bool) []reconcile.Request {
	list := &v1alpha1.NginxRestoreList{}
	if err := r.Client.List(ctx, list, client.InNamespace(of.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// Reads from the cache fail only by a programming error.
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the restores that depend on an object", "object", client.ObjectKeyFromObject(of))
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if concerned(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
