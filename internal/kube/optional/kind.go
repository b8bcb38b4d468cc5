package optional

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/kube/owned"
)

// How long to wait before the API server is asked again whether it serves a kind. A definition that was just created is
// served a moment later. One that cannot be watched may be installed at any time.
const (
	retryMin       = 200 * time.Millisecond
	retryMax       = time.Minute
	unwatchedPause = 5 * time.Minute
)

// kind is a kind that the cluster may lack.
type kind struct {
	owned.Kind
	options    Options
	discovery  discovery.DiscoveryInterface
	definition definition
	// unserved has a value when a list or watch found that the kind is not served.
	unserved chan struct{}
	// wanted is closed when an owner declares the kind, decided when its availability is known for the first time.
	wanted, decided     chan struct{}
	wantOnce, decideOne sync.Once
	notify              func()
	seen                func(client.Object)

	mu     sync.Mutex
	state  owned.Availability
	client client.Client
}

// get returns the availability, and the client if the kind is served.
func (k *kind) get() (owned.Availability, client.Client) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state, k.client
}

func (k *kind) set(ctx context.Context, state owned.Availability, c client.Client) {
	k.mu.Lock()
	before := k.state
	k.state, k.client = state, c
	k.mu.Unlock()
	if before == state {
		return
	}
	k.decideOne.Do(func() { close(k.decided) })
	log.FromContext(ctx).Info("the availability of a kind has changed", "kind", k.Name, "group", k.GVK.Group, "version", k.GVK.Version, "served", state == owned.KindServed)
	k.notify()
}

func (k *kind) want() { k.wantOnce.Do(func() { close(k.wanted) }) }

// run follows whether the kind is served, until ctx is done.
func (k *kind) run(ctx context.Context) {
	if k.options.WatchDefinitions {
		if err := k.watchDefinition(ctx); err != nil {
			log.FromContext(ctx).Error(err, "cannot watch a CustomResourceDefinition", "definition", k.Definition)
		}
	}
	for retry := retryMin; ctx.Err() == nil; {
		served, err := k.isServed()
		if err == nil && served {
			retry = retryMin
			err = k.serve(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.FromContext(ctx).Error(err, "cannot find out whether a kind is served, or cache it", "kind", k.Name)
		default:
			k.set(ctx, owned.KindAbsent, nil)
		}
		retry = k.wait(ctx, retry, err == nil)
	}
}

// wait waits until it is worth asking again, and returns the next pause.
func (k *kind) wait(ctx context.Context, pause time.Duration, absent bool) time.Duration {
	next := min(2*pause, retryMax)
	var elapsed <-chan time.Time
	switch {
	case !absent || k.definition.exists.Load():
		elapsed = time.After(pause)
	case !k.definition.watched.Load():
		select {
		case <-k.wanted:
			elapsed = time.After(unwatchedPause)
		case <-k.definition.changed:
			return retryMin
		case <-ctx.Done():
			return next
		}
	}
	select {
	case <-k.definition.changed:
		return retryMin
	case <-elapsed:
		return next
	case <-ctx.Done():
		return next
	}
}

// isServed asks the API server whether it serves the kind.
func (k *kind) isServed() (bool, error) {
	list, err := k.discovery.ServerResourcesForGroupVersion(k.GVK.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, r := range list.APIResources {
		if r.Kind == k.GVK.Kind {
			return true, nil
		}
	}
	return false, nil
}
