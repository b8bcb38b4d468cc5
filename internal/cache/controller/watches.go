package controller

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/pipeline"
)

// SetupWithManager registers the reconciler and all its watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nginxcache").
		For(&v1alpha1.NginxCache{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(cacheOfPod), builder.WithPredicates(pipeline.PodChanged())).
		WatchesRawSource(source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.enqueue = func(key types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: key}) }
			r.Pipeline.Start(func(app types.NamespacedName) { r.enqueue(cacheOf(app)) })
			r.Pipeline.Keys.OnChange(func() { r.enqueueAll(ctx) })
			return nil
		})).
		WithOptions(pipeline.ControllerOptions(concurrency))
	for _, kind := range desired.DistinctKinds(application.KindStatefulSet) {
		b = b.Owns(kind.New())
	}
	return b.Owns(&appsv1.ControllerRevision{}).Complete(r)
}

// cacheOf returns the cache that an application belongs to.
func cacheOf(app types.NamespacedName) types.NamespacedName {
	name, isEdge := strings.CutSuffix(app.Name, v1alpha1.EdgeName(""))
	if !isEdge {
		name = strings.TrimSuffix(app.Name, v1alpha1.ShardsName(""))
	}
	return types.NamespacedName{Namespace: app.Namespace, Name: name}
}

// enqueueAll queues every cache, because all of their pods have to learn the operator's new keys.
func (r *Reconciler) enqueueAll(ctx context.Context) {
	list := &v1alpha1.NginxCacheList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the NginxCaches, whose pods need the operator's new key")
		return
	}
	for i := range list.Items {
		r.enqueue(client.ObjectKeyFromObject(&list.Items[i]))
	}
}

func cacheOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[v1alpha1.LabelNginxCache]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}
