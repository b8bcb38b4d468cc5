package backup

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
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
	"example.com/nginx-operator/internal/backup/plan"
)

// SetupWithManager registers the reconciler and what wakes it.
func (r *Targets) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackuptarget").
		For(&v1alpha2.NginxOperator{}, builder.WithPredicates(targetChanged())).
		Watches(&v1alpha1.NginxBackupPolicy{}, handler.EnqueueRequestsFromMapFunc(r.neighbours),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NginxBackup{}, r.ofBackups(), builder.WithPredicates(fateChanged())).
		WithOptions(options(concurrency)).
		Complete(r)
}

// targetChanged drops updates that are no change to any trigger: an application tells a lot
// of its pods.
func targetChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha2.NginxOperator)
		after, ok2 := e.ObjectNew.(*v1alpha2.NginxOperator)
		// As long as the status speaks of an earlier spec, no gate is opened.
		if !ok1 || !ok2 || before.Generation != after.Generation || plan.Told(before) != plan.Told(after) ||
			!apiequality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			plan.Moving(before) != plan.Moving(after) || plan.Ended(before) != plan.Ended(after) ||
			!apiequality.Semantic.DeepEqual(before.Status.WaitingRollout, after.Status.WaitingRollout) {
			return true
		}
		b, a := before.Status.Config, after.Status.Config
		return (b == nil) != (a == nil) || a != nil && (b.Revision != a.Revision || b.StableRevision != a.StableRevision)
	}}
}

// fateChanged drops news of backups that change no decision.
func fateChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.NginxBackup)
		after, ok2 := e.ObjectNew.(*v1alpha1.NginxBackup)
		return !ok1 || !ok2 || before.Generation != after.Generation ||
			(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
			!apiequality.Semantic.DeepEqual(before.Status, after.Status)
	}}
}

// ofBackups wakes the targets of backups, and notes when one may come back.
func (r *Targets) ofBackups() handler.EventHandler {
	target := handler.EnqueueRequestsFromMapFunc(targetOf)
	return handler.Funcs{
		CreateFunc: target.Create,
		UpdateFunc: target.Update,
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if b, ok := e.Object.(*v1alpha1.NginxBackup); ok && leavesData(b) {
				r.rest.bereave(types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.Target.Name}, r.Clock.Now())
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

// neighbours are all NginxOperators of a policy's namespace: those that it selects, and those
// that it did.
func (r *Targets) neighbours(ctx context.Context, policy client.Object) []reconcile.Request {
	list := &v1alpha2.NginxOperatorList{}
	if err := r.Client.List(ctx, list, client.InNamespace(policy.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// The cache is in memory: this is an error of the program.
		ctrl.LoggerFrom(ctx).Error(err, "find the targets of a policy", "policy", client.ObjectKeyFromObject(policy))
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
