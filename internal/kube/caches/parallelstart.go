// Package caches has what controller-runtime's caches lack: they start in all namespaces at the same time, share equal
// values, count failed watches, and reads do not wait for a cache that never shows a write. It knows no kind of owner.
package caches

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// concurrentCache is a cache that starts to watch a kind in all its namespaces at the same time.
//
// A cache of selected namespaces (as of controller-runtime v0.25) starts with the next namespace
// when the previous one has synced, which it checks ten times a second: an operator of a thousand
// namespaces would take two minutes to start. controller-runtime only warns against many namespaces
// (https://github.com/kubernetes-sigs/controller-runtime/pull/701).
type concurrentCache struct{ ctrlcache.Cache }

// NeedLeaderElection returns false, so that the cache of a waiting replica is already filled, like
// other caches.
func (concurrentCache) NeedLeaderElection() bool { return false }

var _ manager.LeaderElectionRunnable = concurrentCache{}

// NewConcurrent is a ctrlcache.NewCacheFunc for a cache that starts in all its namespaces at the same time, and reads lists in
// pages.
func NewConcurrent(config *rest.Config, options ctrlcache.Options) (ctrlcache.Cache, error) {
	options.NewInformer = newPagedInformer
	cache, err := ctrlcache.New(config, options)
	return concurrentCache{cache}, err
}

// GetInformer starts in all namespaces without waiting, and then waits for all of them.
func (c concurrentCache) GetInformer(ctx context.Context, object client.Object, options ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	if _, err := c.Cache.GetInformer(ctx, object, ctrlcache.BlockUntilSynced(false)); err != nil {
		return nil, err
	}
	return c.Cache.GetInformer(ctx, object, options...)
}

// GetInformerForKind is GetInformer for a kind.
func (c concurrentCache) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	if _, err := c.Cache.GetInformerForKind(ctx, kind, ctrlcache.BlockUntilSynced(false)); err != nil {
		return nil, err
	}
	return c.Cache.GetInformerForKind(ctx, kind, options...)
}
