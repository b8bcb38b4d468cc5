package rollout

import (
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
)

// TestProbation: pods do not start with a configuration that a pod may still roll back.
func TestProbation(t *testing.T) {
	onProbation := func(p *Pod) {
		serving("new")(p)
		p.Status.OnProbation = true
	}
	comparing := func(p *Pod) {
		onProbation(p)
		p.Status.Comparing = true
	}
	first := Decide(Input{Requested: "new", Stable: "old", Pods: []Pod{pod("a", comparing), pod("b", tested(instanceapi.Passed))}})
	if len(first.Orders) > 0 || !first.Watch {
		t.Errorf("while the first one compares, others may load it: %+v", first)
	}
	for name, tt := range map[string]struct {
		in     Input
		stable bool
		watch  bool
	}{
		"all have proven it":     {Input{Stable: "old", Pods: []Pod{pod("a", serving("new")), pod("b", serving("new"))}}, true, false},
		"one has not":            {Input{Stable: "old", Pods: []Pod{pod("a", serving("new")), pod("b", onProbation)}}, false, true},
		"pods start with it":     {Input{Stable: "new", Pods: []Pod{pod("a", onProbation)}}, true, false},
		"the first of all":       {Input{Pods: []Pod{pod("a", onProbation)}}, true, false},
		"it is being gone back":  {Input{Stable: "old", Proven: true, Pods: []Pod{pod("a", onProbation)}}, true, false},
		"one has gone back":      {Input{Stable: "old", Pods: []Pod{pod("a", serving("new")), pod("b", serving("old"), tested(instanceapi.Failed))}}, false, true},
		"all have gone back":     {Input{Stable: "old", Pods: []Pod{pod("a", serving("old")), pod("b", serving("old"), tested(instanceapi.Failed))}}, false, false},
		"one is still behind it": {Input{Stable: "old", Pods: []Pod{pod("a", serving("old"), tested("Passed")), pod("b", onProbation)}}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			tt.in.Requested = "new"
			if d := Decide(tt.in); d.Stable != tt.stable || d.Watch != tt.watch {
				t.Errorf("stable %t, watch %t, in phase %s", d.Stable, d.Watch, d.Phase)
			}
		})
	}
}
