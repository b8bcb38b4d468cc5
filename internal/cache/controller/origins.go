package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/tier"
)

// origins looks up the NginxOperators that are origins of a cache.
func (r *Reconciler) origins(ctx context.Context, cache *v1alpha1.NginxCache) (tier.Origins, error) {
	return tier.FindOrigins(cache, func(name string) (*v1alpha2.NginxOperator, error) {
		nginx := &v1alpha2.NginxOperator{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: cache.Namespace, Name: name}, nginx)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nginx, err
	})
}

// cachesOfOrigin returns the caches of which an NginxOperator is an origin.
func (r *Reconciler) cachesOfOrigin(ctx context.Context, nginx client.Object) []reconcile.Request {
	list := &v1alpha1.NginxCacheList{}
	if err := r.Client.List(ctx, list, client.InNamespace(nginx.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		// The list is in memory, so an error is a bug.
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the NginxCaches of an origin", "nginxOperator", client.ObjectKeyFromObject(nginx))
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if hasOrigin(&list.Items[i], nginx.GetName()) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// hasOrigin reports whether an NginxOperator is an origin of a cache.
func hasOrigin(cache *v1alpha1.NginxCache, name string) bool {
	for _, o := range cache.Spec.Origins {
		if o.NginxOperator != nil && o.NginxOperator.Name == name {
			return true
		}
	}
	return false
}
