package backup

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
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
	"example.com/nginx-operator/internal/backup/plan"
)

const kindBackup = "NginxBackup"

// SetupWithManager registers the reconciler and what wakes it. pods is the cache with the
// jobs' pods.
func (r *Backups) SetupWithManager(mgr ctrl.Manager, pods cache.Cache, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxbackup").
		For(&v1alpha1.NginxBackup{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, finalizersChanged(), completed()))).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(r.backupOfJob), builder.WithPredicates(jobEnded())).
		Watches(&v1alpha2.NginxOperator{}, handler.EnqueueRequestsFromMapFunc(r.waitingFor), builder.WithPredicates(created())).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{},
			handler.TypedEnqueueRequestsFromMapFunc(backupOfPod), podChanged())).
		WatchesRawSource(r.Jobs.Queue.source(kindBackup)).
		WithOptions(options(concurrency)).
		Complete(r)
}

// backupOfJob is the backup of a job that has ended or is gone, and so lets others of the line
// try.
func (r *Backups) backupOfJob(ctx context.Context, j client.Object) []reconcile.Request {
	r.Jobs.Queue.move(ctx)
	return named(j, v1alpha1.LabelBackup)
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
	if err := r.Client.List(ctx, list, client.InNamespace(nginx.GetNamespace()), client.MatchingFields{byTarget: nginx.GetName()},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		// The cache is in memory: this is an error of the program.
		ctrl.LoggerFrom(ctx).Error(err, "find the backups that wait for an NginxOperator", "nginxOperator", client.ObjectKeyFromObject(nginx))
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if b := &list.Items[i]; waits(b) {
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
	return named(pod, v1alpha1.LabelBackup)
}

// named is the object that a label of a job or pod names, if it is one of that kind's.
func named(object client.Object, label string) []reconcile.Request {
	name := object.GetLabels()[label]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
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
// happens any more that would. And it wakes one whose data is there again.
func completed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.NginxBackup)
		after, ok2 := e.ObjectNew.(*v1alpha1.NginxBackup)
		return ok1 && ok2 && (!plan.Good(before) && plan.Good(after) || plan.Lost(before) && !plan.Lost(after))
	}}
}

func created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
