package backup

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
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
	"example.com/nginx-operator/internal/backup/listing"
)

// gather is how long a policy waits for more news of its backups before it tells: a policy
// with a thousand targets would write its status a thousand times.
const gatherNews = time.Second

// SetupWithManager registers the reconciler and what wakes it. pods is the cache with the
// jobs' pods.
func (r *Policies) SetupWithManager(mgr ctrl.Manager, pods cache.Cache, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackuppolicy").
		For(&v1alpha1.NginxBackupPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NginxBackup{}, later(policyOf), builder.WithPredicates(fateChanged())).
		Watches(&v1alpha2.NginxOperator{}, later(r.policies), builder.WithPredicates(targetChanged())).
		Watches(&v1alpha1.NginxBackup{}, r.bereaved()).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(policyOfJob), builder.WithPredicates(jobEnded())).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, pod *corev1.Pod) []reconcile.Request { return policyOfJob(ctx, pod) }), podChanged())).
		WatchesRawSource(r.Jobs.Queue.source(kindPolicy)).
		WithOptions(options(concurrency)).
		Complete(r)
}

func policyOfJob(_ context.Context, object client.Object) []reconcile.Request {
	return named(object, v1alpha1.LabelPolicy)
}

// bereaved wakes the policies whose destination has the data of a backup that was deleted.
func (r *Policies) bereaved() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		b, ok := e.Object.(*v1alpha1.NginxBackup)
		if !ok || !leavesData(b) {
			return
		}
		list := &v1alpha1.NginxBackupPolicyList{}
		if err := r.Client.List(ctx, list, client.InNamespace(b.Namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			// The cache is in memory: this is an error of the program.
			ctrl.LoggerFrom(ctx).Error(err, "find the policies of a backup that was deleted", "backup", client.ObjectKeyFromObject(b))
			return
		}
		for i := range list.Items {
			if policy := &list.Items[i]; listing.Same(policy.Spec.Destination, b.Spec.Destination) {
				key := client.ObjectKeyFromObject(policy)
				r.deletions.note(key)
				q.AddAfter(reconcile.Request{NamespacedName: key}, gatherNews)
			}
		}
	}}
}

func policyOf(_ context.Context, object client.Object) []types.NamespacedName {
	name := object.GetLabels()[v1alpha1.LabelPolicy]
	if name == "" {
		return nil
	}
	return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: name}}
}

// policies are all of an application's namespace: its labels may have made it another's.
func (r *Policies) policies(ctx context.Context, nginx client.Object) []types.NamespacedName {
	list := &v1alpha1.NginxBackupPolicyList{}
	if err := r.Client.List(ctx, list, client.InNamespace(nginx.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// The cache is in memory: this is an error of the program.
		ctrl.LoggerFrom(ctx).Error(err, "find the policies of an NginxOperator", "nginxOperator", client.ObjectKeyFromObject(nginx))
		return nil
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return keys
}

// later enqueues after a moment, so that what comes in one burst is one pass.
func later(keys func(context.Context, client.Object) []types.NamespacedName) handler.EventHandler {
	enqueue := func(ctx context.Context, object client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, key := range keys(ctx, object) {
			queue.AddAfter(reconcile.Request{NamespacedName: key}, gatherNews)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.Object, q)
		},
	}
}
