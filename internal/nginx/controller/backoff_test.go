package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// TestPace: if nothing changes for 10 s, the passes are spaced out, and the pods are synced at
// increasing intervals.
func TestPace(t *testing.T) {
	var p requeueBackoff
	key := types.NamespacedName{Name: "web"}
	waiting := rollout.Decision{Phase: rollout.Testing, Watch: true}
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	now, polls := start, 0
	var syncs []time.Duration
	for now.Sub(start) < 10*time.Second {
		polls++
		if p.podsOverdue(key, now) {
			p.extendPatience(key)
			syncs = append(syncs, now.Sub(start).Truncate(100*time.Millisecond))
		}
		now = now.Add(p.next(key, waiting, false, false, now))
	}
	if polls < 20 || polls > 50 {
		t.Errorf("%d polls in 10 s", polls)
	}
	// Each interval is twice the previous one, as observed by the next pass.
	want := []time.Duration{600 * time.Millisecond, 1300 * time.Millisecond, 2600 * time.Millisecond, 5 * time.Second}
	if diff := cmp.Diff(want, syncs); diff != "" {
		t.Errorf("syncs (-want +got):\n%s", diff)
	}
}

// TestForgottenPace: a new application with the same name starts without backoff.
func TestForgottenPace(t *testing.T) {
	var p requeueBackoff
	now, key := time.Now(), types.NamespacedName{Name: "web"}
	p.next(key, rollout.Decision{Watch: true}, true, false, now)
	p.forget(key)
	if wait := p.next(key, rollout.Decision{}, false, false, now); wait != 0 {
		t.Errorf("the next pass is after %s", wait)
	}
	if len(p.steps)+len(p.requestedUntil) != 0 {
		t.Error("something of it is kept")
	}
}

func TestPaceOfAStepForward(t *testing.T) {
	var p requeueBackoff
	key, now := types.NamespacedName{Name: "web"}, time.Now()
	waiting := rollout.Decision{Phase: rollout.Testing, Watch: true}
	for range 50 {
		now = now.Add(p.next(key, waiting, false, false, now))
	}
	if !p.podsOverdue(key, now) {
		t.Fatal("nothing is overdue after a long wait")
	}
	waiting.Accepted++
	if wait := p.next(key, waiting, false, false, now); wait != backoffFirst || p.podsOverdue(key, now) {
		t.Errorf("after a step forward the wait is %s", wait)
	}
}

// TestPaceOfACanary: a canary is checked less often, and the step after it does not wait.
func TestPaceOfACanary(t *testing.T) {
	var p requeueBackoff
	key, now := types.NamespacedName{Name: "web"}, time.Now()
	canary := rollout.Decision{Phase: rollout.Loading, Watch: true, AnalyzeAgain: []string{"a"}}
	for range 50 {
		wait := p.next(key, canary, false, false, now)
		if wait < backoffCanary {
			t.Fatalf("the canary is analyzed after %s", wait)
		}
		now = now.Add(wait)
	}
	canary.AnalyzeAgain = nil
	if wait := p.next(key, canary, false, false, now); wait != backoffFirst {
		t.Errorf("after the canary the wait is %s", wait)
	}
}

func TestPaceWithoutAWait(t *testing.T) {
	tests := map[string]struct {
		phase              rollout.Phase
		requested, volumes bool
		want               time.Duration
	}{
		"refused":               {rollout.Rejected, false, false, backoffRejected},
		"settled":               {rollout.Settled, false, false, 0},
		"settled, with volumes": {rollout.Settled, false, true, volumesPollInterval},
		"just requested":        {rollout.Settled, true, true, backoffAfterRequest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var p requeueBackoff
			key, now := types.NamespacedName{Name: "web"}, time.Now()
			if got := p.next(key, rollout.Decision{Phase: tt.phase}, tt.requested, tt.volumes, now); got != tt.want {
				t.Errorf("wait = %s, want %s", got, tt.want)
			}
			if p.next(key, rollout.Decision{Phase: tt.phase}, false, tt.volumes, now.Add(recentFor)) == backoffAfterRequest {
				t.Error("a while later it still counts as recently requested")
			}
		})
	}
}

// TestUsesVolumes: an instance with changed volumes emits no event, so it must be polled.
func TestUsesVolumes(t *testing.T) {
	for name, tt := range map[string]struct {
		spec v1alpha2.NginxOperatorSpec
		want bool
	}{
		"neither":      {v1alpha2.NginxOperatorSpec{PodTemplate: &v1alpha2.PodTemplate{}}, false},
		"certificates": {v1alpha2.NginxOperatorSpec{TLS: []v1alpha2.Certificate{{Name: "a"}}}, true},
		"reloadOn":     {v1alpha2.NginxOperatorSpec{PodTemplate: &v1alpha2.PodTemplate{ReloadOn: []string{"a"}}}, true},
	} {
		if got := usesVolumes(&v1alpha2.NginxOperator{Spec: tt.spec}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
