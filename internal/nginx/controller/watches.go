package controller

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/pipeline"
)

// SetupWithManager registers the reconciler and all its watches. references is the cache with the metadata of
// ConfigMaps.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, references cache.Cache, concurrency int) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nginxoperator").
		// The operator's own status writes change neither the generation nor an annotation.
		For(&v1alpha2.NginxOperator{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(applicationOfPod), builder.WithPredicates(pipeline.PodChanged())).
		WatchesMetadata(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(applicationOfPod), builder.WithPredicates(controllerChanged())).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(applicationOfAutoscaler),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Kind(references, configMapMetadata(),
			handler.TypedEnqueueRequestsFromMapFunc(r.referrers),
			predicate.TypedResourceVersionChangedPredicate[*metav1.PartialObjectMetadata]{})).
		WatchesRawSource(r.Pipeline.Start(itself, r.Client, &v1alpha2.NginxOperatorList{})).
		WatchesRawSource(r.Optional.Source(applicationOfObject, r.exposed)).
		WithOptions(pipeline.ControllerOptions(concurrency))
	for _, kind := range desired.DistinctKinds(application.KindDeployment) {
		b = b.Owns(kind.New())
	}
	b = b.Owns(&appsv1.ControllerRevision{})
	return b.Complete(r)
}

// itself returns the NginxOperator of an application, which has its name.
func itself(app types.NamespacedName) types.NamespacedName { return app }

func configMapMetadata() *metav1.PartialObjectMetadata {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return meta
}

// referrers returns the NginxOperators that refer to a ConfigMap.
func (r *Reconciler) referrers(ctx context.Context, cm *metav1.PartialObjectMetadata) []reconcile.Request {
	list := &v1alpha2.NginxOperatorList{}
	err := r.Client.List(ctx, list,
		client.InNamespace(cm.Namespace),
		client.MatchingFields{observe.IndexConfigMap: cm.Name},
		client.UnsafeDisableDeepCopy,
		client.DisableReadYourWritesConsistency)
	if err != nil {
		// The index is in memory, so an error is a bug.
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the NginxOperators that refer to a ConfigMap", "configMap", client.ObjectKeyFromObject(cm))
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// applicationOfObject returns the NginxOperator of an object of an optional kind.
func applicationOfObject(object client.Object) []reconcile.Request {
	return request(object.GetNamespace(), object.GetLabels()[naming.LabelApplication])
}

// exposed returns the NginxOperators that declare objects of optional kinds.
func (r *Reconciler) exposed(ctx context.Context) ([]reconcile.Request, error) {
	list := &v1alpha2.NginxOperatorList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, err
	}
	var requests []reconcile.Request
	for i := range list.Items {
		app := application.Of(&list.Items[i])
		if slices.ContainsFunc(desired.OptionalKinds(app.Workload()), func(kind owned.Kind) bool { return len(desired.Declared(app, kind.Name)) > 0 }) {
			requests = append(requests, reconcile.Request{NamespacedName: app.Key()})
		}
	}
	return requests, nil
}

func applicationOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	return request(pod.GetNamespace(), pod.GetLabels()[naming.LabelApplication])
}

// controllerChanged selects the events after which other pods belong to an application: a ReplicaSet is new, or has another
// controller.
func controllerChanged() predicate.Funcs {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, now := metav1.GetControllerOf(e.ObjectOld), metav1.GetControllerOf(e.ObjectNew)
			return (before == nil) != (now == nil) || now != nil && before.UID != now.UID
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// applicationOfAutoscaler relies on the Deployment having the name of the application.
func applicationOfAutoscaler(_ context.Context, obj client.Object) []reconcile.Request {
	hpa, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return nil
	}
	return request(hpa.Namespace, observe.TargetDeployment(hpa))
}

func request(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
