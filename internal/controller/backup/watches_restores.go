package backup

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
	"example.com/nginx-operator/internal/backup/outcome"
)

const kindRestore = "NginxRestore"

// SetupWithManager registers the reconciler and what wakes it. pods is the cache with the
// jobs' pods.
func (r *Restores) SetupWithManager(mgr ctrl.Manager, pods cache.Cache, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxrestore").
		For(&v1alpha1.NginxRestore{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, isOver()))).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, j client.Object) []reconcile.Request {
			return named(j, v1alpha1.LabelRestore)
		}), builder.WithPredicates(jobEnded())).
		Watches(&v1alpha1.NginxBackup{}, handler.EnqueueRequestsFromMapFunc(r.restoresOf), builder.WithPredicates(predicate.Or(created(), completed()))).
		Watches(&v1alpha2.NginxOperator{}, handler.EnqueueRequestsFromMapFunc(r.restoresTo)).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{},
			handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
				return named(pod, v1alpha1.LabelRestore)
			}), podChanged())).
		WatchesRawSource(r.Jobs.Queue.source(kindRestore)).
		WithOptions(options(concurrency)).
		Complete(r)
}

// isOver wakes a restore that has just been told to be over: its jobs can go.
func isOver() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.NginxRestore)
		after, ok2 := e.ObjectNew.(*v1alpha1.NginxRestore)
		return ok1 && ok2 && !outcome.Over(before) && outcome.Over(after)
	}}
}

// restoresOf are the restores that wait for a backup.
func (r *Restores) restoresOf(ctx context.Context, backup client.Object) []reconcile.Request {
	return r.restores(ctx, backup, func(restore *v1alpha1.NginxRestore) bool {
		from := restore.Spec.Backup
		return from != nil && from.Name == backup.GetName() && !outcome.Over(restore)
	})
}

// restoresTo are the restores to whom it matters how an application is.
func (r *Restores) restoresTo(ctx context.Context, nginx client.Object) []reconcile.Request {
	return r.restores(ctx, nginx, func(restore *v1alpha1.NginxRestore) bool {
		if restore.Status.Target != nginx.GetName() {
			return false
		}
		return outcome.Unproven(restore, r.Clock.Now()) || !outcome.Over(restore) && outcome.Waits(restore)
	})
}

func (r *Restores) restores(ctx context.Context, of client.Object, concerned func(*v1alpha1.NginxRestore) bool) []reconcile.Request {
	list := &v1alpha1.NginxRestoreList{}
	if err := r.Client.List(ctx, list, client.InNamespace(of.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// The cache is in memory: this is an error of the program.
		ctrl.LoggerFrom(ctx).Error(err, "find the restores that an object matters to", "object", client.ObjectKeyFromObject(of))
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
