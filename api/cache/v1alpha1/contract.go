package v1alpha1

// Labels of the pods of a cache.
const (
	// LabelNginxCache is the name of the NginxCache that a pod belongs to.
	LabelNginxCache = "cache.operator.example.com/nginxcache"
	// LabelTier is the tier that it belongs to: TierEdge or TierShards.
	LabelTier = "cache.operator.example.com/tier"
)

// The tiers.
const (
	TierEdge   = "edge"
	TierShards = "shards"
)

// EdgeName returns the name of the StatefulSet of a cache's edges, and of the Service in front of them.
func EdgeName(cache string) string { return cache + "-edge" }

// PurgesName returns the name of the ConfigMap with what is purged from a cache.
func PurgesName(cache string) string { return cache + "-purges" }

// MaxShards is the maximum of spec.shards.replicas. What others write to the StatefulSet of the shards does not count beyond it.
const MaxShards = 64

// ShardsName returns the name of the StatefulSet of a cache's shards, and of their headless Service.
func ShardsName(cache string) string { return cache + "-shards" }
