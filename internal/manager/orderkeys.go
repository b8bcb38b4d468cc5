package manager

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/caches"
	"example.com/nginx-operator/internal/kube/signingkey"
)

// addOrderKeys adds the controller of the keys that sign the orders to pods. The operator may read one Secret by its
// name, which takes a cache for this Secret alone.
func addOrderKeys(mgr ctrl.Manager, options Options) (*signingkey.Controller, error) {
	secrets, err := caches.NewConcurrent(mgr.GetConfig(), ctrlcache.Options{
		HTTPClient: mgr.GetHTTPClient(),
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		ByObject: map[client.Object]ctrlcache.ByObject{
			&corev1.Secret{}: {Field: named(options.OrderKeySecret)},
		},
		DefaultNamespaces:        map[string]ctrlcache.Config{options.OwnNamespace: {}},
		DefaultTransform:         ctrlcache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: countWatchErrors,
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(secrets); err != nil {
		return nil, err
	}
	writer, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, err
	}
	secret := types.NamespacedName{Namespace: options.OwnNamespace, Name: options.OrderKeySecret}
	keys := signingkey.New(secret, options.OrderKeyLifetime, writer, secrets, clock.RealClock{})
	return keys, keys.SetupWithManager(mgr, secrets)
}
