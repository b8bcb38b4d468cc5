package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// together is a cache that begins to watch a kind in all its namespaces at once.
//
// A cache of certain namespaces (as of controller-runtime v0.25) begins with the next one when the one before shows
// everything, which it looks for ten times a second: an operator of a thousand namespaces would start for two minutes.
type together struct{ ctrlcache.Cache }

// NeedLeaderElection lets an operator that waits for its turn know everything already, as other caches do.
func (together) NeedLeaderElection() bool { return false }

var _ manager.LeaderElectionRunnable = together{}

// newTogether is a ctrlcache.NewCacheFunc.
func newTogether(config *rest.Config, options ctrlcache.Options) (ctrlcache.Cache, error) {
	cache, err := ctrlcache.New(config, options)
	return together{cache}, err
}

// GetInformer begins everywhere without waiting, and waits for what was begun.
func (c together) GetInformer(ctx context.Context, object client.Object, options ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	if _, err := c.Cache.GetInformer(ctx, object, ctrlcache.BlockUntilSynced(false)); err != nil {
		return nil, err
	}
	return c.Cache.GetInformer(ctx, object, options...)
}

// GetInformerForKind does so for a kind.
func (c together) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	if _, err := c.Cache.GetInformerForKind(ctx, kind, ctrlcache.BlockUntilSynced(false)); err != nil {
		return nil, err
	}
	return c.Cache.GetInformerForKind(ctx, kind, options...)
}
