package tier

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/handover"
	"example.com/nginx-operator/internal/nginx/application"
)

// claim returns the claim of a shard, which requests a size and has another.
func claim(ordinal int, requested, capacity string) corev1.PersistentVolumeClaim {
	var c corev1.PersistentVolumeClaim
	c.Name = ClaimName("front", ordinal)
	c.Spec.StorageClassName = new("fast")
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(requested)}
	if capacity != "" {
		c.Status.Phase = corev1.ClaimBound
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}
	}
	return c
}

// TestPlanVolumes: volumes grow to the declared size of 20Gi. The StatefulSet's template follows when all claims request
// it, and the cache when all volumes have it.
func TestPlanVolumes(t *testing.T) {
	for name, tt := range map[string]struct {
		claims                                           []corev1.PersistentVolumeClaim
		grow                                             int
		template, class, usable, refused, growing, other string
	}{
		"none":           {nil, 0, "20Gi", "fast", "20Gi", "", "", ""},
		"as declared":    {[]corev1.PersistentVolumeClaim{claim(0, "20Gi", "20Gi"), claim(1, "20Gi", "21Gi")}, 0, "20Gi", "fast", "20Gi", "", "", ""},
		"not bound":      {[]corev1.PersistentVolumeClaim{claim(0, "20Gi", "")}, 0, "20Gi", "fast", "20Gi", "", "", ""},
		"smaller":        {[]corev1.PersistentVolumeClaim{claim(0, "10Gi", "10Gi"), claim(1, "20Gi", "20Gi")}, 1, "10Gi", "fast", "10Gi", "", "", ""},
		"growing":        {[]corev1.PersistentVolumeClaim{claim(0, "20Gi", "10Gi")}, 0, "20Gi", "fast", "10Gi", "", "cache-objects-front-shards-0 has 10Gi of 20Gi", ""},
		"larger":         {[]corev1.PersistentVolumeClaim{claim(0, "30Gi", "30Gi"), claim(1, "10Gi", "10Gi")}, 0, "10Gi", "fast", "10Gi", "requests 30Gi, and volumes cannot shrink: set it to 30Gi or more", "", ""},
		"another class":  {[]corev1.PersistentVolumeClaim{claim(0, "20Gi", "20Gi")}, 0, "20Gi", "slow", "20Gi", `has the class "fast", which cannot be changed`, "", "slow"},
		"no longer used": {[]corev1.PersistentVolumeClaim{claim(4, "10Gi", "10Gi")}, 0, "20Gi", "fast", "20Gi", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cache := sample()
			if tt.other != "" {
				cache.Spec.Shards.Storage.StorageClassName = &tt.other
			}
			got := PlanVolumes(cache, tt.claims)
			if len(got.Grow) != tt.grow || got.Growing != tt.growing || !strings.Contains(got.Refused, tt.refused) || (got.Refused == "") != (tt.refused == "") {
				t.Errorf("%+v", got)
			}
			if template, usable := got.template.String(), got.usable.String(); template != tt.template || usable != tt.usable || *got.class != tt.class {
				t.Errorf("a new claim requests %s of class %s, and %s can be used", template, *got.class, usable)
			}
		})
	}
}

// TestGrowingCache: the cache of a shard fits on the smallest volume.
func TestGrowingCache(t *testing.T) {
	size := func(app *application.Application) string {
		for line := range strings.SplitSeq(string(app.Spec.Config.Files["shard.conf"]), "\n") {
			if _, after, found := strings.Cut(line, "max_size="); found {
				size, _, _ := strings.Cut(after, " ")
				return size
			}
		}
		return ""
	}
	small, large := []corev1.PersistentVolumeClaim{claim(0, "20Gi", "10Gi")}, []corev1.PersistentVolumeClaim{claim(0, "20Gi", "20Gi")}
	for cacheSize, want := range map[string][2]int64{"": {9 << 30, 18 << 30}, "18Gi": {9 << 30, 18 << 30}, "5Gi": {5 << 30, 5 << 30}} {
		cache := sample()
		if cacheSize != "" {
			cache.Spec.Shards.CacheSize = new(resource.MustParse(cacheSize))
		}
		for i, claims := range [][]corev1.PersistentVolumeClaim{small, large} {
			tiers := Build(cache, testCluster, PlanVolumes(cache, claims), handover.Plan{Shards: int32(Shards(cache))}, Origins{}, cacheconf.PeerKeys{})
			if got := size(tiers.Shards); tiers.Invalid != nil || got != fmt.Sprint(want[i]) {
				t.Errorf("with %q and %s, the size is %s: %v", cacheSize, claims[0].Status.Capacity.Storage(), got, tiers.Invalid)
			}
		}
	}
}
