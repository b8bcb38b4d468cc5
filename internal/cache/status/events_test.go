package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	nginxstatus "example.com/nginx-operator/internal/nginx/status"
)

// TestEvents: what happens to both tiers is one event.
func TestEvents(t *testing.T) {
	event := func(reason, note string) nginxstatus.Event {
		return nginxstatus.Event{Type: "Normal", Reason: reason, Action: "Rollout", Note: note}
	}
	got := Events(
		TierEvents{"shards", []nginxstatus.Event{event("RolloutStarted", "0 of 4"), event("ConfigApplied", "r1")}},
		TierEvents{"edge", []nginxstatus.Event{event("RolloutStarted", "0 of 2"), event("Available", "2 serve")}})
	want := []nginxstatus.Event{
		event("RolloutStarted", "shards: 0 of 4; edge: 0 of 2"), event("ConfigApplied", "shards: r1"), event("Available", "edge: 2 serve"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
