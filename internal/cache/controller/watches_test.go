package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/cache/v1alpha1"
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

// TestHasOrigin: only a reference to the NginxOperator itself counts.
func TestHasOrigin(t *testing.T) {
	cache := &v1alpha1.NginxCache{}
	cache.Spec.Origins = []v1alpha1.Origin{
		{Name: "web", Service: &v1alpha1.ServiceReference{Name: "web"}}, {Name: "a", NginxOperator: &v1alpha1.NginxOperatorReference{Name: "app"}},
	}
	for name, want := range map[string]bool{"app": true, "web": false, "a": false} {
		if hasOrigin(cache, name) != want {
			t.Errorf("%s is an origin: %v", name, !want)
		}
	}
}
