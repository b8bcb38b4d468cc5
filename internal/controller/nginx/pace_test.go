package nginx

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/rollout"
)

// TestPace plays a wait in which nothing moves for 10 s.
func TestPace(t *testing.T) {
	var p pace
	key := types.NamespacedName{Name: "web"}
	waiting := rollout.Decision{Phase: rollout.Testing, Watch: true}
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	now, looks := start, 0
	var nudges []time.Duration
	for now.Sub(start) < 10*time.Second {
		looks++
		if p.overdue(key, now) {
			nudges = append(nudges, now.Sub(start).Truncate(100*time.Millisecond))
		}
		now = now.Add(p.next(key, waiting, false, false, now))
	}
	if looks < 20 || looks > 50 {
		t.Errorf("%d looks in 10 s", looks)
	}
	// Each span is twice the one before, seen at the next look.
	want := []time.Duration{600 * time.Millisecond, 1300 * time.Millisecond, 2600 * time.Millisecond, 5 * time.Second}
	if diff := cmp.Diff(want, nudges); diff != "" {
		t.Errorf("nudges (-want +got):\n%s", diff)
	}
	waiting.Accepted++
	if wait := p.next(key, waiting, false, false, now); wait != paceFirst || p.overdue(key, now) {
		t.Errorf("after a step forward the wait is %s", wait)
	}
	settled := rollout.Decision{Phase: rollout.Settled}
	for decision, want := range map[*rollout.Decision]time.Duration{
		{Phase: rollout.Rejected}: paceRejected, &settled: 0,
	} {
		if got := p.next(key, *decision, false, false, now); got != want {
			t.Errorf("%s: wait = %s, want %s", decision.Phase, got, want)
		}
	}
	if got := p.next(key, settled, false, true, now); got != paceCertificates {
		t.Errorf("with certificates the wait is %s", got)
	}
	if got := p.next(key, settled, true, true, now); got != paceStirred {
		t.Errorf("after an ask the wait is %s", got)
	}
	if got := p.next(key, settled, false, true, now.Add(stirredFor)); got != paceCertificates {
		t.Errorf("a while after an ask the wait is %s", got)
	}
}
