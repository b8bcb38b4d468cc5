package pipeline

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// TestPace: if nothing changes for 10 s, the passes are spaced out.
func TestPace(t *testing.T) {
	var p requeueBackoff
	key := types.NamespacedName{Name: "web"}
	waiting := rollout.Decision{Phase: rollout.Testing, Watch: true}
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	now, polls := start, 0
	for now.Sub(start) < 10*time.Second {
		polls++
		now = now.Add(p.next(key, waiting, activity{}, now))
	}
	if polls < 20 || polls > 50 {
		t.Errorf("%d polls in 10 s", polls)
	}
}

// TestPaceWithOrdersInFlight: the answers to orders queue the application, so polling is slower.
func TestPaceWithOrdersInFlight(t *testing.T) {
	var p requeueBackoff
	key := types.NamespacedName{Name: "web"}
	for _, d := range []rollout.Decision{{Phase: rollout.Testing, Watch: true}, {Phase: rollout.Settled}, {Phase: rollout.Rejected}} {
		if wait := p.next(key, d, activity{inFlight: true}, time.Now()); wait != backoffInFlight {
			t.Errorf("phase %s: the wait is %s", d.Phase, wait)
		}
	}
}

// TestForgottenPace: a new application with the same name starts without backoff.
func TestForgottenPace(t *testing.T) {
	var p requeueBackoff
	now, key := time.Now(), types.NamespacedName{Name: "web"}
	p.next(key, rollout.Decision{Watch: true}, activity{annotated: true}, now)
	p.forget(key)
	if wait := p.next(key, rollout.Decision{}, activity{}, now); wait != 0 {
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
		now = now.Add(p.next(key, waiting, activity{}, now))
	}
	waiting.Accepted++
	if wait := p.next(key, waiting, activity{}, now); wait != backoffFirst {
		t.Errorf("after a step forward the wait is %s", wait)
	}
}

// TestPaceOfACanary: a canary is checked less often, and the step after it does not wait.
func TestPaceOfACanary(t *testing.T) {
	var p requeueBackoff
	key, now := types.NamespacedName{Name: "web"}, time.Now()
	canary := rollout.Decision{Phase: rollout.Loading, Watch: true, AnalyzeAgain: []string{"a"}}
	for range 50 {
		wait := p.next(key, canary, activity{}, now)
		if wait < backoffCanary {
			t.Fatalf("the canary is analyzed after %s", wait)
		}
		now = now.Add(wait)
	}
	canary.AnalyzeAgain = nil
	if wait := p.next(key, canary, activity{}, now); wait != backoffFirst {
		t.Errorf("after the canary the wait is %s", wait)
	}
}

func TestPaceWithoutAWait(t *testing.T) {
	tests := map[string]struct {
		phase              rollout.Phase
		annotated, volumes bool
		want               time.Duration
	}{
		"refused":               {rollout.Rejected, false, false, backoffRejected},
		"settled":               {rollout.Settled, false, false, 0},
		"settled, with volumes": {rollout.Settled, false, true, volumesPollInterval},
		"just annotated":        {rollout.Settled, true, true, backoffAfterRequest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var p requeueBackoff
			key, now := types.NamespacedName{Name: "web"}, time.Now()
			if got := p.next(key, rollout.Decision{Phase: tt.phase}, activity{annotated: tt.annotated, volumes: tt.volumes}, now); got != tt.want {
				t.Errorf("wait = %s, want %s", got, tt.want)
			}
			if p.next(key, rollout.Decision{Phase: tt.phase}, activity{volumes: tt.volumes}, now.Add(recentFor)) == backoffAfterRequest {
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
		if got := usesVolumes(application.Of(&v1alpha2.NginxOperator{Spec: tt.spec})); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
