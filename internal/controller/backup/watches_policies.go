package backup

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// gather is how long a policy waits for more news of its backups before it tells: a policy
// with a thousand targets would write its status a thousand times.
const gatherNews = time.Second

// SetupWithManager registers the reconciler and what wakes it.
func (r *Policies) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackuppolicy").
		For(&v1alpha1.NginxBackupPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NginxBackup{}, later(policyOf), builder.WithPredicates(fateChanged())).
		Watches(&v1alpha2.NginxOperator{}, later(r.policies), builder.WithPredicates(targetChanged())).
		WithOptions(options(concurrency)).
		Complete(r)
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
