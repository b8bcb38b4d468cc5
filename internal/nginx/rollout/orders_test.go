package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// has makes a pod one that takes orders, and has the files of these revisions.
func has(revisions ...string) func(*Pod) {
	return func(p *Pod) { p.Status.Orders, p.Status.Available = &instanceapi.Orders{}, revisions }
}

// since makes a pod one that has had its order for a time in seconds.
func since(seconds int64) func(*Pod) { return func(p *Pod) { p.Status.RequestedSeconds = &seconds } }

func drains(p *Pod) { p.Status.Draining = true }

// TestOrderedWithoutFiles: what a pod was ordered and does not have the files of is ordered again at once, with the files. It
// does not count as under way, so no other pod waits for it.
func TestOrderedWithoutFiles(t *testing.T) {
	toTest, toLoad := instanceapi.Requested{Test: "new"}, instanceapi.Requested{Test: "new", Load: "new"}
	passed, failed := tested(instanceapi.Passed), tested(instanceapi.Failed)
	serves := serving("new")
	for name, tt := range map[string]struct {
		stable string
		pods   []Pod
		phase  Phase
		orders orders
	}{
		"a test": {
			"old", []Pod{pod("a", requested("new", ""), has("old"))}, Testing, orders{"a": toTest}},
		"a test that is under way": {
			"old", []Pod{pod("a", requested("new", ""), has("new", "old"))}, Testing, orders{}},
		"the load of the canary": {
			"old", []Pod{pod("a", requested("new", "new"), passed, has("old")), pod("b", requested("new", ""), passed, has("new"))}, Loading, orders{"a": toLoad}},
		"the load of the canary, which is under way": {
			"old", []Pod{pod("a", requested("new", "new"), passed, has("new")), pod("b", requested("new", ""), passed, has("new"))}, Loading, orders{}},
		"the load of a wave": {
			"old", []Pod{pod("a", serves, has("new")), pod("b", requested("new", "new"), passed, has("old")), pod("c", requested("new", ""), passed, has("new"))},
			Loading, orders{"b": toLoad, "c": toLoad}},
		"the return to stable": {
			"new", []Pod{pod("a", requested("new", "new"), serving("bad"), passed, has("bad")), pod("b", serves, has("new"))}, Loading, orders{"a": toLoad}},
		"the return to stable, which is under way": {
			"new", []Pod{pod("a", requested("new", "new"), serving("bad"), passed, has("bad", "new")), pod("b", serves, has("new"))}, Loading, orders{}},
		"the return after a refusal": {
			"old", []Pod{pod("a", requested("new", "old"), serves, passed, has("new")), pod("b", requested("new", ""), failed, has("new"))},
			Rejected, orders{"a": {Test: "new", Load: "old"}}},
		"an earlier test, and the return after a refusal": {
			"old", []Pod{pod("a", requested("earlier", "new"), serves, has("new")), pod("b", requested("new", ""), failed, has("new"))},
			Rejected, orders{"a": {Load: "old"}}},
		"a pod that serves it was ordered another one, which it does not have": {
			"new", []Pod{pod("a", requested("other", "other"), serves, has("new"))}, Loading, orders{"a": toLoad}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: tt.stable, Pods: tt.pods})
			if diff := cmp.Diff(tt.orders, d.Orders); diff != "" || d.Phase != tt.phase {
				t.Errorf("phase %s, want %s; orders (-want +got):\n%s", d.Phase, tt.phase, diff)
			}
		})
	}
}

// TestOverdue: a pod that accepted an order long ago and does not carry it out is named, and the others go on without it,
// within the rules of waves. The time of an earlier order does not count.
func TestOverdue(t *testing.T) {
	toLoad, toTest := instanceapi.Requested{Test: "new", Load: "new"}, instanceapi.Requested{Test: "new"}
	passed, serves, files := tested(instanceapi.Passed), serving("new"), has("new", "old")
	ready := func(name string) Pod { return pod(name, requested("new", ""), passed, files) }
	for name, tt := range map[string]struct {
		pods    []Pod
		phase   Phase
		overdue []string
		orders  orders
	}{
		"a load that has just begun": {
			[]Pod{pod("a", requested("new", "new"), passed, files, since(119)), ready("b")}, Loading, nil, orders{}},
		"a load that does not end": {
			[]Pod{pod("a", requested("new", "new"), passed, files, since(120)), ready("b"), ready("c")}, Loading, []string{"a"}, orders{"b": toLoad}},
		"two of them": {
			[]Pod{pod("a", requested("new", "new"), passed, files, since(500)), pod("b", requested("new", "new"), passed, files, since(200)), ready("c")},
			Loading, []string{"a", "b"}, orders{"c": toLoad}},
		"it did not end, and failed": {
			[]Pod{pod("a", requested("new", "new"), loadFailed, files, since(500)), ready("b")}, Rejected, nil, orders{"a": {Test: "new", Load: "old"}}},
		"it serves it": {
			[]Pod{pod("a", requested("new", "new"), serves, files, since(500)), pod("b", requested("new", "new"), serves, files, since(500))}, Settled, nil, orders{}},
		"a test that does not end": {
			[]Pod{pod("a", requested("new", ""), files, since(500)), ready("b")}, Loading, []string{"a"}, orders{"b": toLoad}},
		"a test of something else": {
			[]Pod{pod("a", requested("earlier", "old"), has("earlier", "old"), since(5000)), ready("b")}, Testing, nil, orders{"a": toTest}},
		"one that restarts": {
			[]Pod{pod("a", requested("new", "new"), passed, files, drains), ready("b")}, Loading, nil, orders{"b": toLoad}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: "old", Pods: tt.pods})
			if diff := cmp.Diff(tt.orders, d.Orders); diff != "" || d.Phase != tt.phase {
				t.Errorf("phase %s, want %s; orders (-want +got):\n%s", d.Phase, tt.phase, diff)
			}
			if diff := cmp.Diff(tt.overdue, d.Overdue); diff != "" {
				t.Errorf("overdue (-want +got):\n%s", diff)
			}
		})
	}
}
