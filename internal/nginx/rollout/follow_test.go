package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

func unreachable(p *Pod) { p.Status, p.Unreachable = nil, true }

// TestFollow: which revision pods that cannot be reached may load without an order.
func TestFollow(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	since := func(ago time.Duration, pods ...string) *instanceapi.Follow {
		return &instanceapi.Follow{Revision: "new", Number: now.Add(-ago).UnixMilli(), Pods: pods}
	}
	back := &instanceapi.Follow{Revision: "old", Number: now.UnixMilli()}
	passed, failed := tested(instanceapi.Passed), tested(instanceapi.Failed)
	started := func(ago time.Duration) func(*Pod) {
		return func(p *Pod) { p.StartedAt = now.Add(-ago) }
	}
	tests := map[string]struct {
		stable string
		live   *instanceapi.Follow
		pods   []Pod
		phase  Phase
		want   *instanceapi.Follow
	}{
		"every pod is reachable": {
			"old", nil, []Pod{pod("a"), pod("b")}, Testing, nil},
		"a silent pod is waited for": {
			"old", nil, []Pod{pod("a", passed), pod("b", mute)}, Testing, nil},
		"an unreachable pod is not waited for": {
			"old", nil, []Pod{pod("a", passed), pod("b", unreachable)}, Loading, nil},
		"it follows what the others serve": {
			"old", nil, []Pod{pod("a", serving("new")), pod("b", unreachable)}, Settled, since(0)},
		"but not while they may roll it back": {
			"old", nil, []Pod{pod("a", serving("new"), func(p *Pod) { p.Status.OnProbation = true }), pod("b", unreachable)}, Settled, nil},
		"without a change, a broken network causes no write": {
			"new", nil, []Pod{pod("a", serving("new")), pod("b", unreachable)}, Settled, nil},
		"but a pod that reports that it serves another revision follows": {
			"new", nil, []Pod{pod("a", serving("new")), pod("b", func(p *Pod) { p.Unreachable = true })}, Settled, since(0)},
		"and not one that serves what is requested": {
			"new", nil, []Pod{pod("a", serving("new")), pod("b", serving("new"), func(p *Pod) { p.Unreachable = true })}, Settled, nil},
		"what it follows stays": {
			"new", since(time.Hour), []Pod{pod("a", serving("new")), pod("b", unreachable)}, Settled, since(time.Hour)},
		"and also when it is reachable again": {
			"new", since(time.Hour), []Pod{pod("a", serving("new")), pod("b", serving("new"))}, Settled, since(time.Hour)},
		"no pod may follow while every pod answers": {
			"old", since(time.Minute), []Pod{pod("a"), pod("b")}, Testing, nil},
		"not by a first pod either": {
			"old", since(time.Hour, "a"), []Pod{pod("a", passed), pod("b", passed)}, Loading, nil},
		"but a pod that is silent may have followed it": {
			"old", since(time.Minute), []Pod{pod("a"), pod("b", mute)}, Testing, since(time.Minute)},
		"and so may one that starts again": {
			"old", since(time.Minute, "a"), []Pod{pod("a", mute, unready), pod("b")}, Testing, since(time.Minute, "a")},
		"until something else is requested": {
			"mid", &instanceapi.Follow{Revision: "mid", Number: 1}, []Pod{pod("a"), pod("b", unreachable)}, Testing, nil},
		"a revert leads back what may have followed": {
			"new", &instanceapi.Follow{Revision: "mid", Number: 1, Pods: []string{"a"}}, []Pod{pod("a", unreachable)}, Testing, since(0)},
		"a pod that answers, and takes no orders, follows too": {
			"old", nil, []Pod{pod("a", serving("new")), pod("b", func(p *Pod) { p.Unreachable = true })}, Settled, since(0)},
		"once others serve it, all follow, whatever became of the first": {
			"old", since(time.Minute, "gone"), []Pod{pod("a", serving("new")), pod("b", unreachable)}, Settled, since(0)},
		"a pod that is not ready is not the first": {
			"old", nil, []Pod{pod("a", unreachable, unready), pod("b", unreachable)}, Testing, since(0, "b")},
		"if none is reachable, one follows first": {
			"old", nil, []Pod{pod("a", unreachable), pod("b", unreachable)}, Testing, since(0, "a")},
		"the others wait": {
			"old", since(time.Minute, "a"), []Pod{pod("a", unreachable), pod("b", unreachable)}, Testing, since(time.Minute, "a")},
		"until it has stayed ready": {
			"old", since(time.Hour, "a"), []Pod{pod("a", unreachable, started(2*time.Hour)), pod("b", unreachable)}, Testing, since(time.Hour)},
		"which it has not if it restarted: another one is first": {
			"old", since(time.Hour, "a"), []Pod{pod("a", unreachable, started(time.Minute)), pod("b", unreachable)}, Testing, since(0, "a", "b")},
		"nor if it is not ready": {
			"old", since(time.Hour, "a"), []Pod{pod("a", unreachable, unready, started(2*time.Hour)), pod("b", unreachable)}, Testing, since(0, "a", "b")},
		"but not at once": {
			"old", since(time.Minute, "a"), []Pod{pod("a", unreachable, started(time.Second)), pod("b", unreachable)}, Testing, since(time.Minute, "a")},
		"and only one that is ready": {
			"old", since(time.Hour, "a"), []Pod{pod("a", unreachable, started(time.Minute)), pod("b", unreachable, unready)}, Testing, since(time.Hour, "a")},
		"the second one has stayed ready": {
			"old", since(time.Hour, "a", "b"), []Pod{pod("a", unreachable, unready), pod("b", unreachable), pod("c", unreachable)}, Testing, since(time.Hour)},
		"what became of the one before decides nothing": {
			"old", since(time.Minute, "a", "b"), []Pod{pod("a", unreachable), pod("b", unreachable), pod("c", unreachable)}, Testing, since(time.Minute, "a", "b")},
		"not even if the second one is gone": {
			"old", since(time.Hour, "a", "gone"), []Pod{pod("a", unreachable), pod("b", unreachable)}, Testing, since(0, "a", "b")},
		"and no other one is left": {
			"old", since(time.Hour, "a", "gone"), []Pod{pod("a", unreachable)}, Testing, since(time.Hour, "a", "gone")},
		"three that restarted are enough": {
			"old", since(time.Hour, "a", "b", "c"), []Pod{pod("a", unreachable), pod("b", unreachable), pod("c", unreachable, unready), pod("d", unreachable)}, Testing, since(time.Hour, "a", "b", "c")},
		"until one of them is deleted": {
			"old", since(time.Hour, "a", "b", "c"), []Pod{pod("a", unreachable), pod("c", unreachable, unready), pod("d", unreachable)}, Testing, since(0, "a", "c", "d")},
		"another one is first if it is gone": {
			"old", since(time.Hour, "a"), []Pod{pod("b", unreachable)}, Testing, since(0, "b")},
		"what a pod refuses is not followed": {
			"old", nil, []Pod{pod("a", failed), pod("b", unreachable)}, Rejected, nil},
		"what was followed and is refused leads back": {
			"old", since(time.Hour), []Pod{pod("a", failed), pod("b", unreachable)}, Rejected, back},
		"and stays so": {
			"old", back, []Pod{pod("a", failed), pod("b", unreachable)}, Rejected, back},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range tt.pods {
				tt.pods[i].UID = tt.pods[i].Name
			}
			d := Decide(Input{Requested: "new", Stable: tt.stable, Following: tt.live, Now: now, Pods: tt.pods})
			if diff := cmp.Diff(tt.want, d.Follow); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if d.Phase != tt.phase {
				t.Errorf("phase %s, want %s", d.Phase, tt.phase)
			}
		})
	}
}

// TestFirstFollower: the pod that the others wait for, and those that were first before.
func TestFirstFollower(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		ago    time.Duration
		pods   []string
		live   []Pod
		first  string
		failed []string
	}{
		"the first one":                {time.Minute, []string{"a"}, []Pod{pod("a", unreachable), pod("b", unreachable)}, "a", nil},
		"the second one":               {time.Minute, []string{"a", "b"}, []Pod{pod("a", unreachable), pod("b", unreachable)}, "b", []string{"a"}},
		"none, because both failed":    {time.Hour, []string{"a", "b"}, []Pod{pod("a", unreachable), pod("b", unreachable, unready)}, "", []string{"a", "b"}},
		"none, because one is gone":    {time.Hour, []string{"a", "b"}, []Pod{pod("a", unreachable), pod("c", unreachable, unready)}, "", []string{"a"}},
		"none, because all may follow": {time.Hour, nil, []Pod{pod("a", unreachable), pod("b", unreachable)}, "", nil},
		"none, because it is alone":    {time.Hour, []string{"a"}, []Pod{pod("a", unreachable, unready)}, "", nil},
	} {
		for i := range tt.live {
			tt.live[i].UID = tt.live[i].Name
		}
		live := &instanceapi.Follow{Revision: "new", Number: now.Add(-tt.ago).UnixMilli(), Pods: tt.pods}
		d := Decide(Input{Requested: "new", Stable: "old", Following: live, Now: now, Pods: tt.live})
		if d.FirstFollower != tt.first || !slices.Equal(d.FailedFollowers, tt.failed) {
			t.Errorf("%s: first %q, failed %q", name, d.FirstFollower, d.FailedFollowers)
		}
	}
}

// TestNothingChangesWhatIsFollowed: while a failed rollout is held, or nothing is requested, what pods may load stays.
func TestNothingChangesWhatIsFollowed(t *testing.T) {
	live := &instanceapi.Follow{Revision: "old", Number: 7}
	for name, in := range map[string]Input{
		"held":    {Requested: "new", Stable: "old", Held: true},
		"blocked": {Stable: "old"},
		"waiting": {Requested: "new", Stable: "old", HoldOld: true},
	} {
		in.Following, in.Pods = live, []Pod{pod("a", unreachable)}
		if d := Decide(in); d.Follow != live {
			t.Errorf("%s: %+v", name, d.Follow)
		}
	}
}
