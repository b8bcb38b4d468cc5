package backup

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/plan"
)

// passTimeout bounds one pass.
const passTimeout = time.Minute

// A pass that failed is tried again after retryFirst, then twice as long each time, up to
// retryMost.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 5 * time.Minute
)

// gather is how long a policy waits for more news of its backups before it tells: a policy
// with a thousand targets would write its status a thousand times.
const gatherNews = time.Second

// wokenLimit is how many woken backups may wait for the controller to take them.
const wokenLimit = 1024

func options(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		ReconciliationTimeout:   passTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost),
	}
}

// SetupWithManager registers the reconciler and what wakes it. pods is the cache with the
// jobs' pods, jobs is how many of them there may be at a time.
func (r *Backups) SetupWithManager(mgr ctrl.Manager, pods cache.Cache, jobs, concurrency int) error {
	woken := make(chan event.TypedGenericEvent[types.NamespacedName], wokenLimit)
	r.queue = &queue{jobs: r.Client, limit: jobs, clock: r.Clock, wake: func(key types.NamespacedName) {
		woken <- event.TypedGenericEvent[types.NamespacedName]{Object: key}
	}}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackup").
		For(&v1alpha1.NginxBackup{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, finalizersChanged(), completed()))).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(r.backupOfJob), builder.WithPredicates(jobEnded())).
		Watches(&v1alpha2.NginxOperator{}, handler.EnqueueRequestsFromMapFunc(r.waitingFor), builder.WithPredicates(created())).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{},
			handler.TypedEnqueueRequestsFromMapFunc(backupOfPod), podChanged())).
		WatchesRawSource(source.Channel(woken, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, key types.NamespacedName) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: key}}
			}))).
		WithOptions(options(concurrency)).
		Complete(r)
}

// backupOfJob is the backup of a job that has ended or is gone, and so lets others of the line
// try.
func (r *Backups) backupOfJob(ctx context.Context, j client.Object) []reconcile.Request {
	r.queue.move(ctx)
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: j.GetNamespace(), Name: j.GetLabels()[v1alpha1.LabelBackup]}}}
}

// jobEnded drops the news of jobs that go on.
func jobEnded() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*batchv1.Job)
		after, ok2 := e.ObjectNew.(*batchv1.Job)
		return !ok1 || !ok2 || len(before.Status.Conditions) != len(after.Status.Conditions)
	}}
}

// waitingFor are the backups whose target has come into being.
func (r *Backups) waitingFor(ctx context.Context, nginx client.Object) []reconcile.Request {
	list := &v1alpha1.NginxBackupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(nginx.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// The cache is in memory: this is an error of the program.
		ctrl.LoggerFrom(ctx).Error(err, "find the backups that wait for an NginxOperator", "nginxOperator", client.ObjectKeyFromObject(nginx))
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		b := &list.Items[i]
		if b.Spec.Target.Name == nginx.GetName() && waits(b) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	return requests
}

func waits(b *v1alpha1.NginxBackup) bool {
	for _, c := range b.Status.Conditions {
		if c.Reason == v1alpha1.ReasonTargetNotFound {
			return true
		}
	}
	return false
}

func backupOfPod(_ context.Context, pod *corev1.Pod) []reconcile.Request {
	name := pod.Labels[v1alpha1.LabelBackup]
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: name}}}
}

// podChanged drops updates of pods that nothing is judged from.
func podChanged() predicate.TypedPredicate[*corev1.Pod] {
	return predicate.TypedFuncs[*corev1.Pod]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool {
			return !apiequality.Semantic.DeepEqual(e.ObjectOld.Status, e.ObjectNew.Status)
		},
	}
}

func finalizersChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !apiequality.Semantic.DeepEqual(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
}

// completed wakes a backup whose success was told: what its job needed can go. Nothing else
// happens any more that would.
func completed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.NginxBackup)
		after, ok2 := e.ObjectNew.(*v1alpha1.NginxBackup)
		return ok1 && ok2 && !plan.Good(before) && plan.Good(after)
	}}
}

func created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// SetupWithManager registers the reconciler and what wakes it.
func (r *Targets) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackuptarget").
		For(&v1alpha2.NginxOperator{}, builder.WithPredicates(targetChanged())).
		Watches(&v1alpha1.NginxBackupPolicy{}, handler.EnqueueRequestsFromMapFunc(r.neighbours),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NginxBackup{}, handler.EnqueueRequestsFromMapFunc(targetOf), builder.WithPredicates(fateChanged())).
		WithOptions(options(concurrency)).
		Complete(r)
}

// targetChanged drops updates that are no change to any trigger: an application tells a lot
// of its pods.
func targetChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha2.NginxOperator)
		after, ok2 := e.ObjectNew.(*v1alpha2.NginxOperator)
		if !ok1 || !ok2 || before.Generation != after.Generation ||
			!apiequality.Semantic.DeepEqual(before.Labels, after.Labels) || plan.Moving(before) != plan.Moving(after) {
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
