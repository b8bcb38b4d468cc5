package status

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/golden"
)

// shardPod returns a shard that has so many objects since a time; zero: it is not known.
func shardPod(name string, objects int64, since time.Time) Pod {
	pod := Pod{Name: name, Ready: true, Cache: &instanceapi.Cache{Objects: objects, Size: 1 << 30, Free: 1 << 29}}
	if !since.IsZero() {
		pod.Cache.Since = &since
	}
	return pod
}

// problem returns a shard whose volume takes no objects.
func problem(name, text string) Pod {
	pod := shardPod(name, 1000, time.Time{})
	pod.Cache.Problem = text
	return pod
}

// TestDegraded: the condition says what is lost or away, and what that costs.
func TestDegraded(t *testing.T) {
	created := now.Add(-7 * 24 * time.Hour)
	lately := now.Add(-time.Hour)
	good := func(name string) Pod { return shardPod(name, 1000, created) }
	away := Pod{Name: "front-shards-1"}
	silent := Pod{Name: "front-shards-1", Ready: true}
	three := func(second Pod) []Pod { return []Pod{good("front-shards-0"), second, good("front-shards-2")} }
	var messages golden.Messages
	for _, tt := range []struct {
		name    string
		ring    int
		pods    []Pod
		created time.Time
		reason  string
		message string
	}{
		{"nothing", 3, three(good("front-shards-1")), created, v1alpha1.ReasonNothingLost, "All shards answer with what they have stored"},
		{"no edges", 0, nil, created, v1alpha1.ReasonNothingLost, "There are no edges yet"},
		{"an instance manager that does not answer", 3, three(silent), created, v1alpha1.ReasonNothingLost, "All shards answer with what they have stored"},
		{"a shard that is added", 2, three(good("front-shards-1"))[:2], created, v1alpha1.ReasonNothingLost, "All shards answer with what they have stored"},
		{"a shard is away", 3, three(away), created, v1alpha1.ReasonShardsAway,
			"front-shards-1 is away: about 33 % of the objects are requested from the next shard in the ring, or from the origins"},
		{"two shards are away", 4, three(away), created, v1alpha1.ReasonShardsAway,
			"front-shards-1, front-shards-3 are away: about 50 % of the objects are requested from the next shard in the ring, or from the origins"},
		{"the only shard is away", 1, nil, created, v1alpha1.ReasonShardsAway, "No shard answers: what the edges do not have in memory is requested from the origins"},
		{"a full volume", 3, three(problem("front-shards-1", "it is full")), created, v1alpha1.ReasonNotStoring,
			"the volume of front-shards-1 takes no objects, because it is full: about 33 % of the objects are requested from the origins each time, unless they are stored already"},
		{"two problems", 3, []Pod{problem("front-shards-0", "it is read-only"), problem("front-shards-1", "it is full"), away}, created, v1alpha1.ReasonShardsAway,
			"front-shards-2 is away: about 33 % of the objects are requested from the next shard in the ring, or from the origins; the volume of front-shards-0 takes no objects, because it is read-only: about 33 % of the objects are requested from the origins each time, unless they are stored already; the volume of front-shards-1 takes no objects, because it is full: about 33 % of the objects are requested from the origins each time, unless they are stored already"},
		{"a lost volume", 3, three(shardPod("front-shards-1", 500, lately)), created, v1alpha1.ReasonShardsRefilling,
			"front-shards-1 began with an empty volume at 2026-11-25T07:00:00Z: about 33 % of the objects are being stored again"},
		{"a lost volume that is filled again", 3, three(shardPod("front-shards-1", 800, lately)), created, v1alpha1.ReasonNothingLost, "All shards answer with what they have stored"},
		{"all volumes are lost", 2, []Pod{shardPod("front-shards-0", 5, lately), shardPod("front-shards-1", 5, lately)}, created, v1alpha1.ReasonShardsRefilling,
			"front-shards-0 began with an empty volume at 2026-11-25T07:00:00Z, front-shards-1 at 2026-11-25T07:00:00Z: all objects are being stored again"},
		{"a volume that was lost long ago", 1, []Pod{shardPod("front-shards-0", 0, now.Add(-25*time.Hour))}, created, v1alpha1.ReasonNothingLost, "All shards answer with what they have stored"},
		{"lost one after the other", 2, []Pod{shardPod("front-shards-0", 500, lately), shardPod("front-shards-1", 5, lately.Add(time.Minute))}, created, v1alpha1.ReasonShardsRefilling,
			"front-shards-0 began with an empty volume at 2026-11-25T07:00:00Z, front-shards-1 at 2026-11-25T07:01:00Z: all objects are being stored again"},
		{"lost soon after the cache was created", 2, []Pod{shardPod("front-shards-0", 500, lately), shardPod("front-shards-1", 5, lately.Add(time.Minute))}, lately, v1alpha1.ReasonShardsRefilling,
			"front-shards-1 began with an empty volume at 2026-11-25T07:01:00Z: about 50 % of the objects are being stored again"},
		{"shards of a new cache", 2, []Pod{shardPod("front-shards-0", 500, lately), shardPod("front-shards-1", 5, lately.Add(time.Second))}, lately, v1alpha1.ReasonNothingLost, "All shards answer with what they have stored"},
		{"a new cache", 1, []Pod{shardPod("front-shards-0", 0, lately)}, lately.Add(-time.Minute), v1alpha1.ReasonNothingLost, "All shards answer with what they have stored"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Name: "front", CreationTimestamp: metav1.NewTime(tt.created)}}
			shards := healthy("shards")
			shards.Pods = tt.pods
			in := Input{Cache: cache, Edge: healthy("edge"), Shards: shards, Ring: tt.ring, Now: now}
			next, _ := Compute(in)
			c := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionDegraded)
			if c.Reason != tt.reason || c.Message != tt.message || (c.Status == metav1.ConditionTrue) == (c.Reason == v1alpha1.ReasonNothingLost) {
				t.Errorf("Degraded is %+v", c)
			}
			if !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionReady) {
				t.Error("Ready depends on Degraded")
			}
			messages.Add(fmt.Sprintf("condition %s=%s (%s)", c.Type, c.Status, c.Reason), c.Message)
			cache.Status, in.Now = next, now.Add(time.Minute)
			for i := range tt.pods {
				if tt.pods[i].Cache != nil {
					tt.pods[i].Cache.Free -= 1 << 20
				}
			}
			if _, changed := Compute(in); changed {
				t.Error("a minute later, with other figures, the same state is another status")
			}
		})
	}
	messages.Compare(t, "degraded.txt")
}

// TestDegradedEvents: a loss and its end are events, unless a rollout explains them.
func TestDegradedEvents(t *testing.T) {
	status := func(upToDate, degraded metav1.ConditionStatus, reason, message string) *v1alpha1.NginxCacheStatus {
		s := &v1alpha1.NginxCacheStatus{}
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: v1alpha1.ConditionUpToDate, Status: upToDate, Reason: "R"})
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: v1alpha1.ConditionDegraded, Status: degraded, Reason: reason, Message: message})
		return s
	}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	whole := status(yes, no, v1alpha1.ReasonNothingLost, "all is well")
	away := status(yes, yes, v1alpha1.ReasonShardsAway, "one is away")
	full := status(yes, yes, v1alpha1.ReasonNotStoring, "one is full")
	for name, tt := range map[string]struct {
		before, after *v1alpha1.NginxCacheStatus
		want          string
	}{
		"a new cache":           {&v1alpha1.NginxCacheStatus{}, whole, ""},
		"nothing":               {whole, whole, ""},
		"lost":                  {whole, away, "Warning ShardsAway one is away"},
		"still lost":            {away, away, ""},
		"lost in another way":   {away, full, "Warning NotStoring one is full"},
		"whole again":           {full, whole, "Normal NothingLost all is well"},
		"away by a rollout":     {whole, status(no, yes, v1alpha1.ReasonShardsAway, "one is away"), ""},
		"back in a rollout":     {status(no, yes, v1alpha1.ReasonShardsAway, "one is away"), whole, ""},
		"full during a rollout": {whole, status(no, yes, v1alpha1.ReasonNotStoring, "one is full"), "Warning NotStoring one is full"},
	} {
		got := ""
		for _, e := range DegradedEvents(tt.before, tt.after) {
			got += e.Type + " " + e.Reason + " " + e.Note
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
