package purgecontroller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/nginx/pipeline"
)

// indexCache is the index of purges by the names of their caches.
const indexCache = "spec.cacheRef.name"

// SetupWithManager registers the reconciler and all its watches. A request is for a cache.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.NginxCachePurge{}, indexCache, func(obj client.Object) []string {
		if p, ok := obj.(*v1alpha1.NginxCachePurge); ok {
			return []string{p.Spec.CacheRef.Name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nginxcachepurge").
		// The operator's own status writes do not change the generation.
		Watches(&v1alpha1.NginxCachePurge{}, handler.EnqueueRequestsFromMapFunc(cacheOfPurge), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.NginxCache{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(cacheOfPod)).
		WithOptions(pipeline.ControllerOptions(concurrency)).
		Complete(r)
}

func cacheOfPurge(_ context.Context, obj client.Object) []reconcile.Request {
	if p, ok := obj.(*v1alpha1.NginxCachePurge); ok {
		return []reconcile.Request{{NamespacedName: key(p)}}
	}
	return nil
}

func cacheOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	if name := pod.GetLabels()[v1alpha1.LabelNginxCache]; name != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
	}
	return nil
}
