package status

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/handover"
)

// TestHandOver: a cache that hands objects over is up to date, and says so. What is wrong comes first.
func TestHandOver(t *testing.T) {
	plan := handover.Decide(handover.Input{
		Declared: 4, Running: 5, Time: 5 * time.Minute, Now: now,
		Current: &handover.State{From: 5, To: 4, Since: now, Switched: true},
	})
	for _, tt := range []struct {
		shards          Tier
		status          metav1.ConditionStatus
		reason, message string
	}{
		{healthy("shards"), metav1.ConditionTrue, v1alpha1.ReasonHandingOver,
			"shards: objects are handed over from 5 to 4 shards until 2026-11-25T08:05:00Z"},
		{with("shards", v1alpha1.ConditionUpToDate, metav1.ConditionFalse, "RolledBack", "refused"), metav1.ConditionFalse, "RolledBack",
			"shards: refused"},
	} {
		next, _ := Compute(Input{Cache: &v1alpha1.NginxCache{}, Edge: healthy("edge"), Shards: tt.shards, HandOver: plan, Now: now})
		c := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionUpToDate)
		if c.Status != tt.status || c.Reason != tt.reason || c.Message != tt.message {
			t.Errorf("%s: %+v", tt.reason, c)
		}
		if ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady); ready.Status != tt.status {
			t.Errorf("%s: Ready is %s", tt.reason, ready.Status)
		}
	}
}
