package nginxoperator

import (
	"context"

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
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/plan"
)

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackuptarget").
		For(&v1alpha2.NginxOperator{}, builder.WithPredicates(controller.TargetChanged())).
		Watches(&v1alpha1.NginxBackupPolicy{}, handler.EnqueueRequestsFromMapFunc(r.operatorsOfNamespace),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NginxBackup{}, r.enqueueTargetOfBackup(), builder.WithPredicates(controller.BackupChanged())).
		WithOptions(controller.Options(concurrency)).
		Complete(r)
}

// enqueueTargetOfBackup enqueues the target of a backup, and notes the deletion of a backup that a
// listing may import again.
func (r *Reconciler) enqueueTargetOfBackup() handler.EventHandler {
	target := handler.EnqueueRequestsFromMapFunc(targetOf)
	return handler.Funcs{
		CreateFunc: target.Create,
		UpdateFunc: target.Update,
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if b, ok := e.Object.(*v1alpha1.NginxBackup); ok && plan.LeavesData(b) {
				key := types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.Target.Name}
				r.settling.noteBackupDeleted(key, r.Clock.Now())
				// A pass over a target that does not exist forgets it.
				q.Add(reconcile.Request{NamespacedName: key})
				return
			}
			target.Delete(ctx, e, q)
		},
	}
}

func targetOf(_ context.Context, object client.Object) []reconcile.Request {
	b, ok := object.(*v1alpha1.NginxBackup)
	if !ok || b.Labels[v1alpha1.LabelPolicy] == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.Target.Name}}}
}

// operatorsOfNamespace returns the requests for all NginxOperators of a policy's namespace: those
// that it selects, and those that it selected before.
func (r *Reconciler) operatorsOfNamespace(ctx context.Context, policy client.Object) []reconcile.Request {
	list := &v1alpha2.NginxOperatorList{}
	if err := r.Client.List(ctx, list, client.InNamespace(policy.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// Reads from the cache fail only by a programming error.
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the targets of a policy", "policy", client.ObjectKeyFromObject(policy))
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
