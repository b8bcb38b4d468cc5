package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/tier"
)

// TestVolumes: a cache whose volumes are not as declared is neither Accepted nor up to date, whatever its tiers are.
func TestVolumes(t *testing.T) {
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Name: "front"}}
	cache.Spec.Shards.Storage.Size = resource.MustParse("20Gi")
	for _, tt := range []struct {
		requested, capacity string
		condition, reason   string
	}{
		{"20Gi", "20Gi", v1alpha1.ConditionReady, "Ready"},
		{"20Gi", "10Gi", v1alpha1.ConditionUpToDate, v1alpha1.ReasonVolumesGrowing},
		{"30Gi", "30Gi", v1alpha1.ConditionAccepted, v1alpha1.ReasonVolumesNotChanged},
	} {
		var claim corev1.PersistentVolumeClaim
		claim.Name, claim.Status.Phase = tier.ClaimName("front", 0), corev1.ClaimBound
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(tt.requested)}
		claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(tt.capacity)}
		shards := healthy("shards")
		shards.Pods = []Pod{{Name: "front-shards-0"}, {Name: "front-shards-1"}}
		next, _ := Compute(Input{Cache: cache, Edge: healthy("edge"), Shards: shards, Volumes: tier.PlanVolumes(cache, []corev1.PersistentVolumeClaim{claim}), Now: now})
		c, ready := meta.FindStatusCondition(next.Conditions, tt.condition), meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
		if c.Reason != tt.reason || ready.Reason != tt.reason || c.Message == "" {
			t.Errorf("%s of %s: %+v, %+v", tt.capacity, tt.requested, c, ready)
		}
		if size := next.Shards.Pods[0].Storage; size == nil || size.String() != tt.capacity || next.Shards.Pods[1].Storage != nil {
			t.Errorf("the pods are %+v", next.Shards.Pods)
		}
	}
}
