package rollout

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

var refusal = []instanceapi.Problem{{File: "site.conf", Line: 3, Message: `unknown directive "foo"`}}

// pod returns a ready pod of the newest template that serves old.
func pod(name string, change ...func(*Pod)) Pod {
	p := Pod{Name: name, Newest: true, Ready: true, Running: true, Status: &instanceapi.Status{Serving: "old", Stable: "old"}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func asked(test, load string) func(*Pod) {
	return func(p *Pod) { p.Requested = instanceapi.Requested{Test: test, Load: load} }
}

// withToken sets the token hash that the pod has read; "ours" is the one of this operator.
func withToken(hash string) func(*Pod) {
	return func(p *Pod) {
		p.TokenHash, p.Requested.TokenHash = "ours", hash
		p.Status.Requested = p.Requested
	}
}

func tokenAccepted(p *Pod) { p.Status.Authorized = "new" }

type loadRequestCase struct {
	pods    []Pod
	overdue bool
	loads   []string
	ask     ask
}

// TestLoadRequests: load requests, which are faster than another annotation, go to the right pods.
func TestLoadRequests(t *testing.T) {
	passed := tested(instanceapi.Passed)
	tests := map[string]loadRequestCase{
		"the test comes with a grant": {[]Pod{pod("a", func(p *Pod) { p.TokenHash = "ours" })}, false, nil,
			ask{"a": {Test: "new", TokenHash: "ours"}}},
		"the canary is told": {[]Pod{pod("a", asked("new", ""), withToken("ours"), passed), pod("b", asked("new", ""), withToken("ours"), passed)}, false,
			[]string{"a"}, ask{}},
		"and waited for": {[]Pod{pod("a", asked("new", ""), withToken("ours"), passed, tokenAccepted), pod("b", asked("new", ""), withToken("ours"), passed)}, false,
			nil, ask{}},
		"the others are told": {[]Pod{pod("a", asked("new", ""), withToken("ours"), serving("new")), pod("b", asked("new", ""), withToken("ours"), passed)}, false,
			[]string{"b"}, ask{}},
		"another operator's grant": {[]Pod{pod("a", asked("new", ""), withToken("theirs"), passed)}, false,
			nil, ask{"a": {Test: "new", Load: "new", TokenHash: "theirs"}}},
		"who does not listen is asked": {[]Pod{pod("a", asked("new", ""), withToken("ours"), passed)}, true,
			nil, ask{"a": {Test: "new", Load: "new", TokenHash: "ours"}}},
		"going back ends the grant": {[]Pod{pod("a", asked("new", ""), withToken("ours"), loadFailed, tokenAccepted), pod("b", asked("new", ""), withToken("ours"), passed)}, false,
			nil, ask{"a": {Test: "new", Load: "old"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// Pods of releases before TokenHashFingerprint report the token hash itself.
			for range 2 {
				tt.decide(t)
				for _, p := range tt.pods {
					if p.Status != nil {
						p.Status.Requested = p.Status.Requested.Public()
					}
				}
			}
		})
	}
}

func (tt *loadRequestCase) decide(t *testing.T) {
	t.Helper()
	d := Decide(Input{Requested: "new", Stable: "old", Overdue: tt.overdue, Pods: tt.pods})
	if diff := cmp.Diff(tt.ask, d.Requested); diff != "" {
		t.Errorf("asks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tt.loads, slices.Sorted(maps.Keys(d.LoadRequests))); diff != "" {
		t.Errorf("tells (-want +got):\n%s", diff)
	}
	if len(d.SyncPods) > 0 {
		t.Errorf("%v are nudged, although they know what they are asked", d.SyncPods)
	}
}

func serving(revision string) func(*Pod) { return func(p *Pod) { p.Status.Serving = revision } }

func tested(verdict instanceapi.Verdict) func(*Pod) {
	return func(p *Pod) {
		r := instanceapi.Revision{Revision: "new", Test: verdict}
		if verdict == instanceapi.Failed {
			r.Problems = refusal
		}
		p.Status.Revisions = append(p.Status.Revisions, r)
	}
}

func loadFailed(p *Pod) {
	p.Status.Revisions = []instanceapi.Revision{{Revision: "new", Test: instanceapi.Passed, Load: instanceapi.Failed, Problems: refusal}}
}

func ofOldTemplate(p *Pod) { p.Newest = false }
func mute(p *Pod)          { p.Status = nil }
func unready(p *Pod)       { p.Ready = false }
func starting(p *Pod)      { p.Ready, p.Status.Serving = false, "" }
func notRunning(p *Pod)    { p.Ready, p.Running, p.Status = false, false, nil }
func bootsNew(p *Pod)      { p.Status.Stable = "new" }

func informed(p *Pod) { p.Status.Requested = p.Requested }

func TestNudge(t *testing.T) {
	tests := map[string]struct {
		pod  Pod
		want bool
	}{
		"the annotations have not arrived":  {pod("a", asked("new", "")), true},
		"the configuration has not arrived": {pod("a", asked("new", ""), informed), true},
		"it is being tested":                {pod("a", asked("new", ""), informed, func(p *Pod) { p.Status.Next = "new" }), false},
		"the test is over":                  {pod("a", asked("new", ""), informed, tested(instanceapi.Passed)), false},
		"it is about to be asked":           {pod("a"), false},
		"it does not answer":                {pod("a", asked("new", ""), mute), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, overdue := range []bool{false, true} {
				d := Decide(Input{Requested: "new", Stable: "old", Overdue: overdue, Pods: []Pod{tt.pod}})
				if want := tt.want && overdue; d.SyncPods["a"] != want {
					t.Errorf("overdue %t: nudge = %t, want %t", overdue, d.SyncPods["a"], want)
				}
			}
		})
	}
}

type ask = map[string]instanceapi.Requested

func TestDecide(t *testing.T) {
	toTest := instanceapi.Requested{Test: "new"}
	toLoad := instanceapi.Requested{Test: "new", Load: "new"}
	passed, failed := tested(instanceapi.Passed), tested(instanceapi.Failed)
	tests := map[string]struct {
		stable string
		pods   []Pod
		phase  Phase
		write  bool
		ask    ask
	}{
		"the first configuration is stable at once": {
			"", nil, Testing, true, nil},
		"what was stable is lost: a refused one does not take its place": {
			"", []Pod{pod("a", asked("new", ""), failed)}, Rejected, false, nil},
		"what was stable is lost: an accepted one does, when it is served": {
			"", []Pod{pod("a", asked("new", ""), passed)}, Loading, false, ask{"a": toLoad}},
		"what was stable is lost, and served": {
			"", []Pod{pod("a", serving("new"))}, Settled, true, nil},
		"without pods it waits": {
			"old", nil, Testing, false, nil},
		"every pod is asked to test": {
			"old", []Pod{pod("a"), pod("b", asked("earlier", "old"))}, Testing, false,
			ask{"a": toTest, "b": toTest}},
		"a pod that has not started is not asked": {
			"old", []Pod{pod("a", notRunning)}, Testing, false, nil},
		"a pod that does not answer yet may start with it": {
			"new", []Pod{pod("a", mute, unready)}, Testing, true, nil},
		"a pod that has not looked at its files yet": {
			"new", []Pod{pod("a", starting, func(p *Pod) { p.Status.Stable = "" })}, Testing, true, nil},
		"a test that is open is waited for": {
			"old", []Pod{pod("a", asked("new", ""), passed), pod("b", asked("new", ""))}, Testing, false, nil},
		"a ready pod that does not answer is waited for": {
			"old", []Pod{pod("a", asked("new", ""), passed), pod("b", asked("new", ""), mute)}, Testing, false, nil},
		"a lost pod is not waited for": {
			"old", []Pod{pod("a", asked("new", ""), passed), pod("b", mute, unready)}, Loading, false, ask{"a": toLoad}},
		"one refusal is enough": {
			"old", []Pod{pod("a", asked("new", ""), passed), pod("b", asked("new", ""), failed)}, Rejected, false, nil},
		"the canary is one pod": {
			"old", []Pod{pod("a", asked("new", ""), passed), pod("b", asked("new", ""), passed)}, Loading, false, ask{"a": toLoad}},
		"the others wait for the canary": {
			"old", []Pod{pod("a", asked("new", "new"), passed), pod("b", asked("new", ""), passed)}, Loading, false, nil},
		"a canary that died is replaced": {
			"old", []Pod{pod("a", asked("new", "new"), mute, unready), pod("b", asked("new", ""), passed)}, Loading, false, ask{"b": toLoad}},
		"the others follow the canary": {
			"old", []Pod{pod("a", asked("new", "new"), serving("new")), pod("b", asked("new", ""), passed)}, Loading, false, ask{"b": toLoad}},
		"a canary that cannot load it goes back": {
			"old", []Pod{pod("a", asked("new", "new"), loadFailed), pod("b", asked("new", ""), passed)}, Rejected, false,
			ask{"a": {Test: "new", Load: "old"}}},
		"what has loaded it goes back when another refuses": {
			"old", []Pod{pod("a", asked("new", "new"), serving("new")), pod("b", asked("new", "new"), loadFailed)}, Rejected, false,
			ask{"a": {Test: "new", Load: "old"}, "b": {Test: "new", Load: "old"}}},
		"when all serve it, it is stable": {
			"old", []Pod{pod("a", asked("new", "new"), serving("new")), pod("b", asked("new", "new"), serving("new"))}, Settled, true, nil},
		"a pod that starts late boots from stable and follows": {
			"old", []Pod{pod("a", asked("new", "new"), serving("new")), pod("b", unready)}, Testing, false, ask{"b": toTest}},
		"a pod that starts with it needs no asking": {
			"new", []Pod{pod("a", serving("new")), pod("b", bootsNew, starting)}, Loading, false, nil},
		"a pod that booted too early follows at once": {
			"new", []Pod{pod("a", serving("new")), pod("b"), pod("c")}, Loading, false, ask{"b": toLoad, "c": toLoad}},
		"nothing to do": {
			"new", []Pod{pod("a", serving("new")), pod("b", asked("new", "new"), serving("new"))}, Settled, true, nil},
		"a change back takes back what was asked": {
			"new", []Pod{pod("a", asked("other", ""), serving("new")), pod("b", asked("other", "other"), serving("other"))}, Loading, false,
			ask{"a": toTest, "b": toLoad}},
		"a change back, while a pod may still load the other one": {
			"new", []Pod{pod("a", asked("other", ""), serving("new"), func(p *Pod) { p.Status.Authorized = "other" }), pod("b", serving("new"))}, Loading, false,
			ask{"a": toLoad}},
		"a change back, asked by an annotation that has arrived": {
			"new", []Pod{pod("a", asked("new", "new"), serving("new"), func(p *Pod) { p.Status.Requested.Load = "other" })}, Loading, false, nil},
		"a change back that is done": {
			"new", []Pod{pod("a", asked("other", ""), serving("new"))}, Settled, true, ask{"a": toTest}},
		"a newer change wins over a mix": {
			"old", []Pod{pod("a", asked("mid", "mid"), serving("mid")), pod("b", asked("mid", ""))}, Testing, false,
			ask{"a": toTest, "b": toTest}},
		"a newer change that is refused ends the mix": {
			"old", []Pod{pod("a", asked("new", "mid"), serving("mid"), failed), pod("b", asked("new", ""), failed)}, Rejected, false,
			ask{"a": {Test: "new", Load: "old"}}},
		"the first configuration is refused": {
			"new", []Pod{pod("a", bootsNew, starting, failed)}, Rejected, true, nil},
		"a correction of the first configuration is tested by pods that wait": {
			"bad", []Pod{pod("a", starting)}, Testing, false, ask{"a": toTest}},
		"and started by them": {
			"bad", []Pod{pod("a", starting, passed, asked("new", ""))}, Loading, false, ask{"a": toLoad}},
		"an old pod's refusal does not count while new ones come": {
			"old", []Pod{pod("a", ofOldTemplate, asked("new", ""), failed), pod("b", notRunning)}, Testing, false, nil},
		"the newest template decides": {
			"old", []Pod{pod("a", ofOldTemplate, asked("new", ""), failed), pod("b", unready, asked("new", ""), passed)}, Loading, false,
			ask{"b": toLoad}},
		"old pods test what the newest template has accepted": {
			"old", []Pod{pod("a", ofOldTemplate), pod("b", asked("new", "new"), serving("new"))}, Loading, false, ask{"a": toTest}},
		"an old pod waits for the other old ones": {
			"old", []Pod{pod("a", ofOldTemplate, asked("new", ""), passed), pod("b", ofOldTemplate, asked("new", "")), pod("c", asked("new", "new"), serving("new"))},
			Loading, false, nil},
		"an old pod's refusal keeps the other old ones as they are": {
			"old", []Pod{pod("a", ofOldTemplate, asked("new", ""), passed), pod("b", ofOldTemplate, asked("new", ""), failed), pod("c", asked("new", "new"), serving("new"))},
			Loading, false, nil},
		"old pods that accept follow": {
			"old", []Pod{pod("a", ofOldTemplate, asked("new", ""), passed), pod("b", ofOldTemplate, asked("new", ""), passed), pod("c", asked("new", "new"), serving("new"))},
			Loading, false, ask{"a": toLoad, "b": toLoad}},
		"old pods that accept need not wait for new ones": {
			"old", []Pod{pod("a", ofOldTemplate, asked("new", ""), passed), pod("b", notRunning)}, Loading, false, ask{"a": toLoad}},
		"a new template refuses what the old one serves": {
			"new", []Pod{pod("a", ofOldTemplate, serving("new")), pod("b", bootsNew, starting, failed)}, Rejected, true, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: tt.stable, Pods: tt.pods})
			if tt.ask == nil {
				tt.ask = ask{}
			}
			if diff := cmp.Diff(tt.ask, d.Requested); diff != "" {
				t.Errorf("asks (-want +got):\n%s", diff)
			}
			// Writing what is already stable is no write.
			if write := d.Stable || tt.stable == "new"; d.Phase != tt.phase || write != (tt.write || tt.stable == "new") {
				t.Errorf("phase %s, write stable %t; want %s, %t", d.Phase, d.Stable, tt.phase, tt.write)
			}
			if (d.Phase == Rejected) != (len(d.Problems) > 0) && d.Phase != Testing {
				t.Errorf("phase %s has problems %v", d.Phase, d.Problems)
			}
		})
	}
}

// TestSilentPodsReceiveOnlyNewRequests: an operator that has just started may not have reached pods
// that serve the stable configuration. It writes nothing to them.
func TestSilentPodsReceiveOnlyNewRequests(t *testing.T) {
	silent := pod("a", func(p *Pod) { p.Status = nil })
	for stable, want := range map[string]ask{"new": {}, "old": {"a": {Test: "new"}}} {
		d := Decide(Input{Requested: "new", Stable: stable, Pods: []Pod{silent}})
		if diff := cmp.Diff(want, d.Requested); diff != "" {
			t.Errorf("%s is stable: asks (-want +got):\n%s", stable, diff)
		}
	}
}

// TestHeld: what failed stays as it is, so the operator only waits for pods that do not answer,
// since their next answer emits no event.
func TestHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		pods  []Pod
		watch bool
	}{
		"all answer":     {[]Pod{pod("a"), pod("b", asked("new", ""), tested(instanceapi.Passed))}, false},
		"one is silent":  {[]Pod{pod("a"), pod("b", mute)}, true},
		"one is no more": {[]Pod{pod("a"), pod("b", mute, func(p *Pod) { p.Ready = false })}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: "old", Held: true, Overdue: true, Pods: tt.pods})
			if len(d.Requested)+len(d.LoadRequests)+len(d.SyncPods) > 0 || d.Stable {
				t.Errorf("something is changed: %+v", d)
			}
			if d.Watch != tt.watch {
				t.Errorf("Watch = %t", d.Watch)
			}
		})
	}
}

func TestBlockedLoadsNothing(t *testing.T) {
	d := Decide(Input{Stable: "old", Pods: []Pod{pod("a"), pod("b", mute)}})
	if d.Phase != Blocked || len(d.Requested) > 0 || d.Stable || d.Watch {
		t.Errorf("Decide = %+v", d)
	}
	if diff := cmp.Diff([]string{"b"}, d.Unreachable); diff != "" {
		t.Error(diff)
	}
}

// TestWaves: in a large application, a configuration is loaded in waves. The pods do what is
// requested at once.
func TestWaves(t *testing.T) {
	var pods []Pod
	for i := range 100 {
		pods = append(pods, pod(fmt.Sprintf("p%03d", i)))
	}
	var waves []int
	for range 20 {
		d := Decide(Input{Requested: "new", Stable: "old", Pods: pods})
		if d.Phase == Settled {
			break
		}
		waves = append(waves, len(d.Requested))
		for i := range pods {
			if want, ok := d.Requested[pods[i].Name]; ok {
				obey(&pods[i], want)
			}
		}
	}
	if diff := cmp.Diff([]int{100, 1, 25, 25, 25, 24}, waves); diff != "" {
		t.Error(diff)
	}
}

func obey(p *Pod, want instanceapi.Requested) {
	p.Requested = want
	p.Status = &instanceapi.Status{Serving: p.Status.Serving, Stable: "old",
		Revisions: []instanceapi.Revision{{Revision: want.Test, Test: instanceapi.Passed}}}
	if want.Load != "" {
		p.Status.Serving = want.Load
	}
}
