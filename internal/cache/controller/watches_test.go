package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestCacheOf: each application belongs to one cache, whatever the cache is called.
func TestCacheOf(t *testing.T) {
	for _, cache := range []string{"front", "a-edge", "a-shards", "edge", "shards-edge"} {
		for _, app := range applications(cache) {
			if got := cacheOf(types.NamespacedName{Namespace: "shop", Name: app}); got.Name != cache || got.Namespace != "shop" {
				t.Errorf("%s belongs to %s, want %s", app, got, cache)
			}
		}
	}
}
