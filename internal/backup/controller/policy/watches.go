package policy

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
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/plan"
)

// batchPeriod is how long changes are collected before a pass: a policy with a thousand targets
// would otherwise write its status a thousand times.
const batchPeriod = time.Second

// SetupWithManager registers the controller and its watches. pods is the cache with the pods of
// jobs.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, pods cache.Cache, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackuppolicy").
		For(&v1alpha1.NginxBackupPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NginxBackup{}, enqueueBatched(policyOf), builder.WithPredicates(controller.BackupChanged())).
		Watches(&v1alpha2.NginxOperator{}, enqueueBatched(r.policiesOfNamespace), builder.WithPredicates(controller.TargetChanged())).
		Watches(&v1alpha1.NginxBackup{}, r.policiesOfDeletedBackup()).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(policyOfJob), builder.WithPredicates(jobs.JobEnded())).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, pod *corev1.Pod) []reconcile.Request { return policyOfJob(ctx, pod) }), jobs.PodChanged())).
		WatchesRawSource(r.Runner.Queue.Source(Kind)).
		WithOptions(controller.Options(concurrency)).
		Complete(r)
}

func policyOfJob(_ context.Context, object client.Object) []reconcile.Request {
	return jobs.Requests(object, v1alpha1.LabelPolicy)
}

// policiesOfDeletedBackup enqueues the policies whose destination contains the data of a deleted
// backup.
func (r *Reconciler) policiesOfDeletedBackup() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		b, ok := e.Object.(*v1alpha1.NginxBackup)
		if !ok || !plan.LeavesData(b) {
			return
		}
		list := &v1alpha1.NginxBackupPolicyList{}
		if err := r.Client.List(ctx, list, client.InNamespace(b.Namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			// Reads from the cache fail only by a programming error.
			ctrl.LoggerFrom(ctx).Error(err, "cannot find the policies of a deleted backup", "backup", client.ObjectKeyFromObject(b))
			return
		}
		for i := range list.Items {
			if policy := &list.Items[i]; listing.SameDestination(policy.Spec.Destination, b.Spec.Destination) {
				key := client.ObjectKeyFromObject(policy)
				r.deletions.note(key)
				q.AddAfter(reconcile.Request{NamespacedName: key}, batchPeriod)
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

// policiesOfNamespace returns all policies of an application's namespace, since changed labels may
// affect each of them.
func (r *Reconciler) policiesOfNamespace(ctx context.Context, nginx client.Object) []types.NamespacedName {
	list := &v1alpha1.NginxBackupPolicyList{}
	if err := r.Client.List(ctx, list, client.InNamespace(nginx.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// Reads from the cache fail only by a programming error.
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the policies of an NginxOperator", "nginxOperator", client.ObjectKeyFromObject(nginx))
		return nil
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return keys
}

// enqueueBatched enqueues after batchPeriod, so that a burst of changes is one pass.
func enqueueBatched(keys func(context.Context, client.Object) []types.NamespacedName) handler.EventHandler {
	enqueue := func(ctx context.Context, object client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, key := range keys(ctx, object) {
			queue.AddAfter(reconcile.Request{NamespacedName: key}, batchPeriod)
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
