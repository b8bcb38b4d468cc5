package optional

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/caches"
	"example.com/nginx-operator/internal/kube/owned"
)

// serve caches the kind until the API server does not serve it any more, or ctx is done.
func (k *kind) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	reads := caches.NewReadYourWrites(k.options.Namespaces, func() ctrlcache.Options { return k.cacheOptions(k.options.Listed(k.Kind)) })
	transform, allowance := k.options.Content(k.Kind)
	defer allowance.Release()
	cache, err := k.newCache(ctx, reads, transform, allowance)
	if err != nil {
		cancel()
		return err
	}
	c, err := reads.NewClient(k.options.Config, client.Options{
		HTTPClient: k.options.HTTPClient, Scheme: k.options.Scheme, Mapper: k.options.Mapper,
		Cache: &client.CacheOptions{Reader: cache, Unstructured: true},
	})
	if err != nil {
		cancel()
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ended, synced := make(chan error, 1), make(chan bool, 1)
	running.Go(func() { ended <- cache.Start(ctx) })
	running.Go(func() { synced <- cache.WaitForCacheSync(ctx) })
	return k.whileServed(ctx, ended, synced, c)
}

// whileServed returns when the API server does not serve the kind any more, or the cache has ended.
func (k *kind) whileServed(ctx context.Context, ended <-chan error, synced <-chan bool, c client.Client) error {
	for retry := retryMin; ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case ok := <-synced:
			if ok {
				k.set(ctx, owned.KindServed, c)
			}
			continue
		case <-k.definition.changed:
			retry = retryMin
		case <-k.unserved:
			// Discovery may lag behind.
			if !sleep(ctx, retry) {
				return nil
			}
			retry = min(2*retry, retryMax)
		}
		if served, err := k.isServed(); err == nil && !served {
			return nil
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// newCache returns a cache of the kind, which has not been started.
func (k *kind) newCache(ctx context.Context, reads *caches.ReadYourWrites, transform toolscache.TransformFunc, allowance cachedcontent.Allowance) (ctrlcache.Cache, error) {
	cache, err := reads.NewCache(k.options.Config, k.cacheOptions(transform))
	if err != nil {
		return nil, err
	}
	if err := cache.IndexField(ctx, k.New(), k.options.Index, k.options.IndexValues); err != nil {
		return nil, fmt.Errorf("index %s: %w", k.Name, err)
	}
	informer, err := cache.GetInformer(ctx, k.New(), ctrlcache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(allowance.Deleted()); err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: k.notice,
		UpdateFunc: func(before, after any) {
			old, isObject := before.(client.Object)
			if now, ok := after.(client.Object); ok && isObject && old.GetResourceVersion() != now.GetResourceVersion() {
				k.seen(now)
			}
		},
		DeleteFunc: k.notice,
	})
	return cache, err
}

// cacheOptions returns the options of the cache of the kind.
func (k *kind) cacheOptions(transform toolscache.TransformFunc) ctrlcache.Options {
	return ctrlcache.Options{
		HTTPClient:               k.options.HTTPClient,
		Scheme:                   k.options.Scheme,
		Mapper:                   k.options.Mapper,
		DefaultNamespaces:        k.namespaces(),
		DefaultLabelSelector:     k.options.Selector,
		DefaultTransform:         transform,
		DefaultWatchErrorHandler: k.watchError,
	}
}

func (k *kind) notice(object any) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	if object, ok := object.(client.Object); ok {
		k.seen(object)
	}
}

func (k *kind) namespaces() map[string]ctrlcache.Config {
	if len(k.options.Namespaces) == 0 {
		return nil
	}
	namespaces := map[string]ctrlcache.Config{}
	for _, namespace := range k.options.Namespaces {
		namespaces[namespace] = ctrlcache.Config{}
	}
	return namespaces
}

// watchError notes that the kind is not served, which is no error, and passes everything else on.
func (k *kind) watchError(ctx context.Context, r *toolscache.Reflector, err error) {
	if apierrors.IsNotFound(err) {
		signal(k.unserved)
		return
	}
	k.options.WatchErrors(ctx, r, err)
}
