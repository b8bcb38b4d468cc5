package manager

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/tier"
	"example.com/nginx-operator/internal/nginx/naming"
)

var (
	descCacheCondition = prometheus.NewDesc("nginx_operator_cache_condition",
		"A condition of an NginxCache: 1 True, 0 False, -1 Unknown.", []string{"namespace", "name", "condition"}, nil)
	descCacheTransition = prometheus.NewDesc("nginx_operator_cache_ready_transition_time_seconds",
		"Time at which the condition Ready of an NginxCache last changed, in seconds since the epoch.", []string{"namespace", "name"}, nil)
	descCacheReplicas = prometheus.NewDesc("nginx_operator_cache_replicas",
		"Pods of a tier of an NginxCache, by state (desired, ready, updated).", []string{"namespace", "name", "tier", "state"}, nil)
	descCacheRestarts = prometheus.NewDesc("nginx_operator_cache_restarts",
		"Container restarts of the current pods of a tier of an NginxCache.", []string{"namespace", "name", "tier"}, nil)
	descCacheShard = prometheus.NewDesc("nginx_operator_cache_shard_ready",
		"For each shard of the ring of an NginxCache, 1 if its pod is ready, otherwise 0.", []string{"namespace", "name", "shard"}, nil)
)

// cacheState are the metrics of NginxCaches.
var cacheState = stateKind{
	name: "NginxCaches",
	objects: prometheus.NewDesc("nginx_operator_caches",
		"NginxCaches by condition and its status.", []string{"condition", "status"}, nil),
	omitted: prometheus.NewDesc("nginx_operator_caches_without_series",
		"NginxCaches without series of their own, because there are more than --metrics-max-objects.", nil, nil),
	series: []*prometheus.Desc{descCacheCondition, descCacheTransition, descCacheReplicas, descCacheRestarts, descCacheShard},
	list: func(ctx context.Context, c client.Reader) ([]stateObject, error) {
		list := &cachev1alpha1.NginxCacheList{}
		if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		objects := make([]stateObject, 0, len(list.Items))
		for i := range list.Items {
			cache := &list.Items[i]
			objects = append(objects, stateObject{cache.Namespace, cache.Name, cache.Status.Conditions, func(s stateSink) { collectCache(s, cache) }})
		}
		return objects, nil
	},
}

func collectCache(s stateSink, cache *cachev1alpha1.NginxCache) {
	s.conditions(descCacheCondition, descCacheTransition, cache.Status.Conditions)
	collectTier(s, cachev1alpha1.TierEdge, tier.Edges(cache), cache.Status.Edge)
	collectTier(s, cachev1alpha1.TierShards, tier.Shards(cache), cache.Status.Shards)
	pods := ptr.Deref(cache.Status.Shards, cachev1alpha1.TierStatus{}).Pods
	// A shard that does not exist is in the ring, too.
	for n := range tier.Shards(cache) {
		name, ready := naming.Pod(cachev1alpha1.ShardsName(cache.Name), n), 0.0
		if slices.ContainsFunc(pods, func(p cachev1alpha1.PodStatus) bool { return p.Name == name && p.Ready }) {
			ready = 1
		}
		s.gauge(descCacheShard, ready, name)
	}
}

func collectTier(s stateSink, name string, desired int, status *cachev1alpha1.TierStatus) {
	found := ptr.Deref(status, cachev1alpha1.TierStatus{})
	s.gauge(descCacheReplicas, float64(desired), name, "desired")
	s.gauge(descCacheReplicas, float64(found.ReadyReplicas), name, "ready")
	s.gauge(descCacheReplicas, float64(found.UpdatedReplicas), name, "updated")
	s.gauge(descCacheRestarts, float64(found.Restarts), name)
}
