package rollout

import (
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
		"which it has not if it restarted": {
			"old", since(time.Hour, "a"), []Pod{pod("a", unreachable, started(time.Minute)), pod("b", unreachable)}, Testing, since(time.Hour, "a")},
		"nor if it is not ready": {
			"old", since(time.Hour, "a"), []Pod{pod("a", unreachable, unready, started(2*time.Hour)), pod("b", unreachable)}, Testing, since(time.Hour, "a")},
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
