package rollout

import (
	"fmt"
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
	return func(p *Pod) { p.Status.Requested = instanceapi.Requested{Test: test, Load: load} }
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

type orders = map[string]instanceapi.Requested

func TestDecide(t *testing.T) {
	toTest := instanceapi.Requested{Test: "new"}
	toLoad := instanceapi.Requested{Test: "new", Load: "new"}
	passed, failed := tested(instanceapi.Passed), tested(instanceapi.Failed)
	tests := map[string]struct {
		stable string
		pods   []Pod
		phase  Phase
		write  bool
		orders orders
	}{
		"the first configuration is stable at once": {
			"", nil, Testing, true, nil},
		"what was stable is lost: a refused one does not take its place": {
			"", []Pod{pod("a", requested("new", ""), failed)}, Rejected, false, nil},
		"what was stable is lost: an accepted one does, when it is served": {
			"", []Pod{pod("a", requested("new", ""), passed)}, Loading, false, orders{"a": toLoad}},
		"what was stable is lost, and served": {
			"", []Pod{pod("a", serving("new"))}, Settled, true, nil},
		"without pods it waits": {
			"old", nil, Testing, false, nil},
		"every pod is requested to test": {
			"old", []Pod{pod("a"), pod("b", requested("earlier", "old"))}, Testing, false,
			orders{"a": toTest, "b": toTest}},
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
			"old", []Pod{pod("a", requested("new", ""), passed), pod("b", mute, unready)}, Loading, false, orders{"a": toLoad}},
		"one refusal is enough": {
			"old", []Pod{pod("a", requested("new", ""), passed), pod("b", requested("new", ""), failed)}, Rejected, false, nil},
		"the canary is one pod": {
			"old", []Pod{pod("a", requested("new", ""), passed), pod("b", requested("new", ""), passed)}, Loading, false, orders{"a": toLoad}},
		"the others wait for the canary": {
			"old", []Pod{pod("a", requested("new", "new"), passed), pod("b", requested("new", ""), passed)}, Loading, false, nil},
		"a canary that died is replaced": {
			"old", []Pod{pod("a", requested("new", "new"), mute, unready), pod("b", requested("new", ""), passed)}, Loading, false, orders{"b": toLoad}},
		"the others follow the canary": {
			"old", []Pod{pod("a", requested("new", "new"), serving("new")), pod("b", requested("new", ""), passed)}, Loading, false, orders{"b": toLoad}},
		"a canary that cannot load it goes back": {
			"old", []Pod{pod("a", requested("new", "new"), loadFailed), pod("b", requested("new", ""), passed)}, Rejected, false,
			orders{"a": {Test: "new", Load: "old"}}},
		"what has loaded it goes back when another refuses": {
			"old", []Pod{pod("a", requested("new", "new"), serving("new")), pod("b", requested("new", "new"), loadFailed)}, Rejected, false,
			orders{"a": {Test: "new", Load: "old"}, "b": {Test: "new", Load: "old"}}},
		"when all serve it, it is stable": {
			"old", []Pod{pod("a", requested("new", "new"), serving("new")), pod("b", requested("new", "new"), serving("new"))}, Settled, true, nil},
		"a pod that starts late boots from stable and follows": {
			"old", []Pod{pod("a", requested("new", "new"), serving("new")), pod("b", unready)}, Testing, false, orders{"b": toTest}},
		"a pod that starts with it needs no request": {
			"new", []Pod{pod("a", serving("new")), pod("b", bootsNew, starting)}, Loading, false, nil},
		"a pod that booted too early follows at once": {
			"new", []Pod{pod("a", serving("new")), pod("b"), pod("c")}, Loading, false, orders{"b": toLoad, "c": toLoad}},
		"nothing to do": {
			"new", []Pod{pod("a", serving("new")), pod("b", requested("new", "new"), serving("new"))}, Settled, true, nil},
		"a change back withdraws the requests": {
			"new", []Pod{pod("a", requested("other", ""), serving("new")), pod("b", requested("other", "other"), serving("other"))}, Loading, false,
			orders{"a": toTest, "b": toLoad}},
		"a change back, while a pod may still load the other one": {
			"new", []Pod{pod("a", requested("other", "other"), serving("new")), pod("b", serving("new"))}, Loading, false,
			orders{"a": toLoad}},
		"a change back that is done": {
			"new", []Pod{pod("a", requested("other", ""), serving("new"))}, Settled, true, orders{"a": toTest}},
		"a newer change wins over a mix": {
			"old", []Pod{pod("a", requested("mid", "mid"), serving("mid")), pod("b", requested("mid", ""))}, Testing, false,
			orders{"a": toTest, "b": toTest}},
		"a newer change that is refused ends the mix": {
			"old", []Pod{pod("a", requested("new", "mid"), serving("mid"), failed), pod("b", requested("new", ""), failed)}, Rejected, false,
			orders{"a": {Test: "new", Load: "old"}}},
		"the first configuration is refused": {
			"new", []Pod{pod("a", bootsNew, starting, failed)}, Rejected, true, nil},
		"a correction of the first configuration is tested by pods that wait": {
			"bad", []Pod{pod("a", starting)}, Testing, false, orders{"a": toTest}},
		"and started by them": {
			"bad", []Pod{pod("a", starting, passed, requested("new", ""))}, Loading, false, orders{"a": toLoad}},
		"an old pod's refusal does not count while new ones come": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), failed), pod("b", notRunning)}, Testing, false, nil},
		"the newest template decides": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), failed), pod("b", unready, requested("new", ""), passed)}, Loading, false,
			orders{"b": toLoad}},
		"old pods test what the newest template has accepted": {
			"old", []Pod{pod("a", ofOldTemplate), pod("b", requested("new", "new"), serving("new"))}, Loading, false, orders{"a": toTest}},
		"an old pod waits for the other old ones": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), passed), pod("b", ofOldTemplate, requested("new", "")), pod("c", requested("new", "new"), serving("new"))},
			Loading, false, nil},
		"an old pod's refusal keeps the other old ones as they are": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), passed), pod("b", ofOldTemplate, requested("new", ""), failed), pod("c", requested("new", "new"), serving("new"))},
			Loading, false, nil},
		"old pods that accept follow": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), passed), pod("b", ofOldTemplate, requested("new", ""), passed), pod("c", requested("new", "new"), serving("new"))},
			Loading, false, orders{"a": toLoad, "b": toLoad}},
		"old pods that accept need not wait for new ones": {
			"old", []Pod{pod("a", ofOldTemplate, requested("new", ""), passed), pod("b", notRunning)}, Loading, false, orders{"a": toLoad}},
		"a new template refuses what the old one serves": {
			"new", []Pod{pod("a", ofOldTemplate, serving("new")), pod("b", bootsNew, starting, failed)}, Rejected, true, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: tt.stable, Pods: tt.pods})
			if tt.orders == nil {
				tt.orders = orders{}
			}
			if diff := cmp.Diff(tt.orders, d.Orders); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
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

// TestSilentPodsGetNoOrders: an operator that has just started may not have reached pods that serve.
func TestSilentPodsGetNoOrders(t *testing.T) {
	for _, stable := range []string{"new", "old"} {
		d := Decide(Input{Requested: "new", Stable: stable, Pods: []Pod{pod("a", mute)}})
		if len(d.Orders) > 0 {
			t.Errorf("%s is stable: orders %v", stable, d.Orders)
		}
	}
}

// TestPaused: no more pods load a configuration that is paused. A pod that refuses it still makes all go back.
func TestPaused(t *testing.T) {
	toLoad, passed := requested("new", "new"), tested(instanceapi.Passed)
	for name, tt := range map[string]struct {
		pods   []Pod
		phase  Phase
		watch  bool
		orders orders
	}{
		"tests go on": {
			[]Pod{pod("a"), pod("b", requested("new", ""), passed)}, Testing, true, orders{"a": {Test: "new"}}},
		"the first pod does not load it": {
			[]Pod{pod("a", requested("new", ""), passed), pod("b", requested("new", ""), passed)}, Loading, false, orders{}},
		"a pod that was ordered to load it does": {
			[]Pod{pod("a", toLoad, passed), pod("b", requested("new", ""), passed)}, Loading, true, orders{}},
		"the others do not follow": {
			[]Pod{pod("a", toLoad, serving("new")), pod("b", requested("new", ""), passed)}, Loading, false, orders{}},
		"the first pod took it back": {
			[]Pod{pod("a", toLoad, loadFailed), pod("b", toLoad, serving("new"))}, Rejected, true,
			orders{"a": {Test: "new", Load: "old"}, "b": {Test: "new", Load: "old"}}},
		"all pods serve it": {
			[]Pod{pod("a", toLoad, serving("new")), pod("b", toLoad, serving("new"))}, Settled, false, orders{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: "old", Paused: true, Pods: tt.pods})
			if d.Phase != tt.phase || d.Watch != tt.watch || d.Stable != (tt.phase == Settled) {
				t.Errorf("phase %s, watch %v, stable %v", d.Phase, d.Watch, d.Stable)
			}
			if diff := cmp.Diff(tt.orders, d.Orders); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
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
			d := Decide(Input{Requested: "new", Stable: "old", Held: true, Pods: tt.pods})
			if len(d.Orders) > 0 || d.Stable {
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
	if d.Phase != Blocked || len(d.Orders) > 0 || d.Stable || d.Watch {
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
		waves = append(waves, len(d.Orders))
		for i := range pods {
			if want, ok := d.Orders[pods[i].Name]; ok {
				obey(&pods[i], want)
			}
		}
	}
	if diff := cmp.Diff([]int{100, 1, 25, 25, 25, 24}, waves); diff != "" {
		t.Error(diff)
	}
}

func obey(p *Pod, want instanceapi.Requested) {
	p.Status = &instanceapi.Status{Requested: want, Serving: p.Status.Serving, Stable: "old",
		Revisions: []instanceapi.Revision{{Revision: want.Test, Test: instanceapi.Passed}}}
	if want.Load != "" {
		p.Status.Serving = want.Load
	}
}
