// Package signingkey keeps Ed25519 keys in a Secret, which every replica of an operator reads. The first replica that
// finds a key missing or due creates it. The key before stays in the Secret, so that receivers that do not know the new
// one yet can be sent what it signs.
package signingkey

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// checkEvery is the maximum time between two checks of an unchanged key. A check costs no request.
const checkEvery = 6 * time.Hour

// Controller keeps the keys.
type Controller struct {
	// client writes the Secret, and reader reads it from a cache.
	client client.Client
	reader client.Reader
	secret types.NamespacedName
	// lifetime is the time after which a key is replaced.
	lifetime time.Duration
	clock    clock.PassiveClock

	mu   sync.Mutex
	keys []ed25519.PrivateKey
	// changed are called when there are other keys.
	changed []func()
	// attempted is closed by the first attempt to read the Secret.
	attempted chan struct{}
	once      sync.Once
}

// New returns a controller of the keys in a Secret, which client writes and reader reads from a cache. Keys are replaced
// after lifetime.
func New(secret types.NamespacedName, lifetime time.Duration, client client.Client, reader client.Reader, clock clock.PassiveClock) *Controller {
	return &Controller{client: client, reader: reader, secret: secret, lifetime: lifetime, clock: clock, attempted: make(chan struct{})}
}

// Attempted returns a channel that is closed once the Secret has been read for the first time, successfully or not.
func (c *Controller) Attempted() <-chan struct{} { return c.attempted }

// Keys returns the keys, the newest first; empty until the Secret has been read. It is safe for concurrent use.
func (c *Controller) Keys() []ed25519.PrivateKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.keys)
}

// OnChange adds a function that is called when there are other keys.
func (c *Controller) OnChange(changed func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = append(c.changed, changed)
}

// SetupWithManager registers the controller on every replica, because each of them may become the leader. secrets is the
// cache that holds the Secret.
func (c *Controller) SetupWithManager(mgr ctrl.Manager, secrets cache.Cache) error {
	// The first pass reports a Secret that does not exist, of which no event comes.
	start := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{NamespacedName: c.secret})
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("signingkey").
		WatchesRawSource(source.Kind(secrets, &corev1.Secret{}, &handler.TypedEnqueueRequestForObject[*corev1.Secret]{})).
		WatchesRawSource(start).
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		Complete(c)
}

// Reconcile creates or renews the key if it is due, and takes over those of the Secret.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	defer c.once.Do(func() { close(c.attempted) })
	secret := &corev1.Secret{}
	if err := c.reader.Get(ctx, c.secret, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("secret %s does not exist: apply the operator's manifests again, which contain it", c.secret)
		}
		return ctrl.Result{}, err
	}
	data, changed, err := renewed(secret.Data, c.lifetime, c.clock.Now())
	if err != nil {
		return ctrl.Result{}, err
	}
	if changed {
		secret = secret.DeepCopy()
		secret.Data = data
		// The resourceVersion lets only one of several replicas succeed. The others observe its result.
		if err := c.client.Update(ctx, secret); err != nil {
			return ctrl.Result{}, fmt.Errorf("store a new key: %w", err)
		}
		ctrl.LoggerFrom(ctx).Info("created a key for signing", "secret", c.secret)
	}
	c.take(Parse(data))
	return ctrl.Result{RequeueAfter: min(checkEvery, max(time.Second, createdAt(data, c.clock.Now()).Add(c.lifetime).Sub(c.clock.Now())))}, nil
}

// take takes over the keys.
func (c *Controller) take(keys []ed25519.PrivateKey) {
	c.mu.Lock()
	same := slices.EqualFunc(c.keys, keys, func(a, b ed25519.PrivateKey) bool { return a.Equal(b) })
	c.keys = keys
	changed := slices.Clone(c.changed)
	c.mu.Unlock()
	if !same {
		for _, call := range changed {
			call()
		}
	}
}
