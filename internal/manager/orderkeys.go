package manager

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/caches"
	"example.com/nginx-operator/internal/kube/signingkey"
	"example.com/nginx-operator/internal/nginx/pipeline"
)

// addKeys returns the operator's private keys. They sign the orders to pods, and mark the jobs of the backup operator.
func addKeys(mgr ctrl.Manager, options Options) (pipeline.KeyRing, error) {
	if options.readsOrderKeys() {
		return addOrderKeys(mgr, options)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return processKey{key}, nil
}

// processKey is a key that only this process has. A backup operator without a Secret uses one, and runs the jobs of an
// earlier process again.
type processKey struct{ key ed25519.PrivateKey }

// Keys implements pipeline.KeyRing.
func (k processKey) Keys() []ed25519.PrivateKey { return []ed25519.PrivateKey{k.key} }

// OnChange implements pipeline.KeyRing.
func (processKey) OnChange(func()) {}

// Attempted implements pipeline.KeyRing.
func (processKey) Attempted() <-chan struct{} {
	attempted := make(chan struct{})
	close(attempted)
	return attempted
}

// waitForKeys returns a function that returns the keys once they have been read for the first time.
func waitForKeys(ring pipeline.KeyRing) func(context.Context) []ed25519.PrivateKey {
	return func(ctx context.Context) []ed25519.PrivateKey {
		select {
		case <-ring.Attempted():
		case <-ctx.Done():
		}
		return ring.Keys()
	}
}

// addOrderKeys adds the controller of the keys in the Secret. The operator may read one Secret by its
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
	writer, err := newLive(mgr)
	if err != nil {
		return nil, err
	}
	secret := types.NamespacedName{Namespace: options.OwnNamespace, Name: options.OrderKeySecret}
	keys := signingkey.New(secret, options.OrderKeyLifetime, writer, secrets, clock.RealClock{})
	return keys, keys.SetupWithManager(mgr, secrets)
}
