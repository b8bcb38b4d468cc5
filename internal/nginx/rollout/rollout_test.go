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

func requested(test, load string) func(*Pod) {
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
	pods     []Pod
	overdue  bool
	loads    []string
	requests requests
}

// TestLoadRequests: load requests, which are faster than another annotation, go to the right pods.
func TestLoadRequests(t *testing.T) {
	passed := tested(instanceapi.Passed)
	tests := map[string]loadRequestCase{
		"the test comes with a token hash": {[]Pod{pod("a", func(p *Pod) { p.TokenHash = "ours" })}, false, nil,
			requests{"a": {Test: "new", TokenHash: "ours"}}},
		"the canary is authorized": {[]Pod{pod("a", requested("new", ""), withToken("ours"), passed), pod("b", requested("new", ""), withToken("ours"), passed)}, false,
			[]string{"a"}, requests{}},
		"and waited for": {[]Pod{pod("a", requested("new", ""), withToken("ours"), passed, tokenAccepted), pod("b", requested("new", ""), withToken("ours"), passed)}, false,
			nil, requests{}},
		"the others are authorized": {[]Pod{pod("a", requested("new", ""), withToken("ours"), serving("new")), pod("b", requested("new", ""), withToken("ours"), passed)}, false,
			[]string{"b"}, requests{}},
		"another operator's token hash": {[]Pod{pod("a", requested("new", ""), withToken("theirs"), passed)}, false,
			nil, requests{"a": {Test: "new", Load: "new", TokenHash: "theirs"}}},
		"an overdue pod gets an annotation": {[]Pod{pod("a", requested("new", ""), withToken("ours"), passed)}, true,
			nil, requests{"a": {Test: "new", Load: "new", TokenHash: "ours"}}},
		"a rollback withdraws the token hash": {[]Pod{pod("a", requested("new", ""), withToken("ours"), loadFailed, tokenAccepted), pod("b", requested("new", ""), withToken("ours"), passed)}, false,
			nil, requests{"a": {Test: "new", Load: "old"}}},
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
	if diff := cmp.Diff(tt.requests, d.Requested); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tt.loads, slices.Sorted(maps.Keys(d.LoadRequests))); diff != "" {
		t.Errorf("load requests (-want +got):\n%s", diff)
	}
	if len(d.SyncPods) > 0 {
		t.Errorf("%v get a sync, although they have read their request", d.SyncPods)
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
		"the annotations have not arrived":  {pod("a", requested("new", "")), true},
		"the configuration has not arrived": {pod("a", requested("new", ""), informed), true},
		"it is being tested":                {pod("a", requested("new", ""), informed, func(p *Pod) { p.Status.Next = "new" }), false},
		"the test is over":                  {pod("a", requested("new", ""), informed, tested(instanceapi.Passed)), false},
		"it is about to get a request":      {pod("a"), false},
		"it does not answer":                {pod("a", requested("new", ""), mute), false},
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

type requests = map[string]instanceapi.Requested

func TestDecide(t *testing.T) {
	toTest := instanceapi.Requested{Test: "new"}
	toLoad := instanceapi.Requested{Test: "new", Load: "new"}
	passed, failed := tested(instanceapi.Passed), tested(instanceapi.Failed)
	tests := map[string]struct {
		stable   string
		pods     []Pod
		phase    Phase
		write    bool
		requests requests
	}{
		"the first configuration is stable at once": {
			"", nil, Testing, true, nil},
		"what was stable is lost: a refused one does not take its place": {
			"", []Pod{pod("a", requested("new", ""), failed)}, Rejected, false, nil},
		"what was stable is lost: an accepted one does, when it is served": {
			"", []Pod{pod("a", requested("new", ""), passed)}, Loading, false, requests{"a": toLoad}},
		"what was stable is lost, and served": {
			"", []Pod{pod("a", serving("new"))}, Settled, true, nil},
		"without pods it waits": {
			"old", nil, Testing, false, nil},
		"every pod is requested to test": {
			"old", []Pod{pod("a"), pod("b", requested("earlier", "old"))}, Testing, false,
			requests{"a": toTest, "b": toTest}},
		"a pod that has not started gets no request": {
			"old", []Pod{pod("a", notRunning)}, Testing, false, nil},
		"a pod that does not answer yet may start with it": {
			"new", []Pod{pod("a", mute, unready)}, Testing, true, nil},
		"a pod that has not read its files yet": {
			"new", []Pod{pod("a", starting, func(p *Pod) { p.Status.Stable = "" })}, Testing, true, nil},
		"a test that is open is waited for": {
			"old", []Pod{pod("a", requested("new", ""), passed), pod("b", requested("new", ""))}, Testing, false, nil},
		"a ready pod that does not answer is waited for": {
			"old", []Pod{pod("a", requested("new", ""), passed), pod("b", requested("new", ""), mute)}, Testing, false, nil},
		"a lost pod is not waited for": {
			"old", []Pod{pod("a", requested("new", ""), passed), pod("b", mute, unready)}, Loading, false, requests{"a": toLoad}},
		"one refusal is enough": {
			"old", []Pod{pod("a", requested("new", ""), passed), pod("b", requested("new", ""), failed)}, Rejected, false, nil},
		"the canary is one pod": {
			"old", []Pod{pod("a", requested("new", ""), passed), pod("b", requested("new", ""), passed)}, Loading, false, requests{"a": toLoad}},
		"the others wait for the canary": {
			"old", []Pod{pod("a", requested("new", "new"), passed), pod("b", requested("new", ""), passed)}, Loading, false, nil},
		"a canary that died is replaced": {
			"old", []Pod{pod("a", requested("new", "new"), mute, unready), pod("b", requested("new", ""), passed)}, Loading, false, requests{"b": toLoad}},
		"the others follow the canary": {
			"old", []Pod{pod("a", requested("new", "new"), serving("new")), pod("b", requested("new", ""), passed)}, Loading, false, requests{"b": toLoad}},
		"a canary that cannot load it goes back": {
			"old", []Pod{pod("a", requested("new", "new"), loadFailed), pod("b", requested("new", ""), passed)}, Rejected, false,
			requests{"a": {Test: "new", Load: "old"}}},
		"what has loaded it goes back when another refuses": {
			"old", []Pod{pod("a", requested("new", "new"), serving("new")), pod("b", requested("new", "new"), loadFailed)}, Rejected, false,
			requests{"a": {Test: "new", Load: "old"}, "b": {Test: "new", Load: "old"}}},
		"when all serve it, it is stable": {
			"old", []Pod{pod("a", requested("new", "new"), serving("new")), pod("b", requested("new", "new"), serving("new"))}, Settled, true, nil},
		"a pod that starts late boots from stable and follows": {
			"old", []Pod{pod("a", requested("new", "new"), serving("new")), pod("b", unready)}, Testing, false, requests{"b": toTest}},
		"a pod that starts with it needs no request": {
			"new", []Pod{pod("a", serving("new")), pod("b", bootsNew, starting)}, Loading, false, nil},
		"a pod that booted too early follows at once": {
			"new", []Pod{pod("a", serving("new")), pod("b"), pod("c")}, Loading, false, requests{"b": toLoad, "c": toLoad}},
		"nothing to do": {
			"new", []Pod{pod("a", serving("new")), pod("b", requested("new", "new"), serving("new"))}, Settled, true, nil},
		"a change back withdraws the requests": {
			"new", []Pod{pod("a", requested("other", ""), serving("new")), pod("b", requested("other", "other"), serving("other"))}, Loading, false,
			requests{"a": toTest, "b": toLoad}},
		"a change back, while a pod may still load the other one": {
			"new", []Pod{pod("a", requested("other", ""), serving("new"), func(p *Pod) { p.Status.Authorized = "other" }), pod("b", serving("new"))}, Loading, false,
			requests{"a": toLoad}},
		"a change back, requested by an annotation that has arrived": {
			"new", []Pod{pod("a", requested("new", "new"), serving("new"), func(p *Pod) { p.Status.Requested.Load = "other" })}, Loading, false, nil},
		"a change back that is done": {
			"new", []Pod{pod("a", requested("other", ""), serving("new"))}, Settled, true, requests{"a": toTest}},
		"a newer change wins over a mix": {
			"old", []Pod{pod("a", requested("mid", "mid"), serving("mid")), pod("b", requested("mid", ""))}, Testing, false,
			requests{"a": toTest, "b": toTest}},
		"a newer change that is refused ends the mix": {
			"old", []Pod{pod("a", requested("new", "mid"), serving("mid"), failed), pod("b", requested("new", ""), failed)}, Rejected, false,
			requests{"a": {Test: "new", Load: "old"}}},
		"the first configuration is refused": {
			"new", []Pod{pod("a", bootsNew, starting, failed)}, Rejected, true, nil},
		"a correction of the first configuration is tested by pods that wait": {
			"bad", []Pod{pod("a", starting)}, Testing, false, requests{"a": toTest}},
		"and started by them": {
			"bad", []Pod{pod("a", starting, passed, requested("new", ""))}, Loading, false, requests{"a": toLoad}},
		"an old pod's refusal does not count while new ones come": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), failed), pod("b", notRunning)}, Testing, false, nil},
		"the newest template decides": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), failed), pod("b", unready, requested("new", ""), passed)}, Loading, false,
			requests{"b": toLoad}},
		"old pods test what the newest template has accepted": {
			"old", []Pod{pod("a", ofOldTemplate), pod("b", requested("new", "new"), serving("new"))}, Loading, false, requests{"a": toTest}},
		"an old pod waits for the other old ones": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), passed), pod("b", ofOldTemplate, requested("new", "")), pod("c", requested("new", "new"), serving("new"))},
			Loading, false, nil},
		"an old pod's refusal keeps the other old ones as they are": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), passed), pod("b", ofOldTemplate, requested("new", ""), failed), pod("c", requested("new", "new"), serving("new"))},
			Loading, false, nil},
		"old pods that accept follow": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), passed), pod("b", ofOldTemplate, requested("new", ""), passed), pod("c", requested("new", "new"), serving("new"))},
			Loading, false, requests{"a": toLoad, "b": toLoad}},
		"old pods that accept need not wait for new ones": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), passed), pod("b", notRunning)}, Loading, false, requests{"a": toLoad}},
		"a new template refuses what the old one serves": {
			"new", []Pod{pod("a", ofOldTemplate, serving("new")), pod("b", bootsNew, starting, failed)}, Rejected, true, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: tt.stable, Pods: tt.pods})
			if tt.requests == nil {
				tt.requests = requests{}
			}
			if diff := cmp.Diff(tt.requests, d.Requested); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
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
	for stable, want := range map[string]requests{"new": {}, "old": {"a": {Test: "new"}}} {
		d := Decide(Input{Requested: "new", Stable: stable, Pods: []Pod{silent}})
		if diff := cmp.Diff(want, d.Requested); diff != "" {
			t.Errorf("%s is stable: requests (-want +got):\n%s", stable, diff)
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
		"all answer":     {[]Pod{pod("a"), pod("b", requested("new", ""), tested(instanceapi.Passed))}, false},
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
