package controller

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/pipeline"
)

// SetupWithManager registers the reconciler and all its watches. references is the cache with the metadata of ConfigMaps.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, references cache.Cache, concurrency int) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nginxcache").
		For(&v1alpha1.NginxCache{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(cacheOfPod), builder.WithPredicates(pipeline.PodChanged())).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(cacheOfClaim)).
		Watches(&v1alpha2.NginxOperator{}, handler.EnqueueRequestsFromMapFunc(r.cachesOfOrigin), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Kind(references, configMapMetadata(), handler.TypedEnqueueRequestsFromMapFunc(cacheOfPurges),
			predicate.TypedResourceVersionChangedPredicate[*metav1.PartialObjectMetadata]{})).
		WatchesRawSource(r.Pipeline.Start(cacheOf, r.Client, &v1alpha1.NginxCacheList{})).
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

// cacheOfPod returns the cache of which an object has the label.
func cacheOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[v1alpha1.LabelNginxCache]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

func cacheOfClaim(_ context.Context, claim client.Object) []reconcile.Request {
	app := claim.GetLabels()[naming.LabelApplication]
	if app == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: cacheOf(types.NamespacedName{Namespace: claim.GetNamespace(), Name: app})}}
}

func configMapMetadata() *metav1.PartialObjectMetadata {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return meta
}

func cacheOfPurges(ctx context.Context, cm *metav1.PartialObjectMetadata) []reconcile.Request {
	if !strings.HasSuffix(cm.Name, v1alpha1.PurgesName("")) {
		return nil
	}
	return cacheOfPod(ctx, cm)
}
