package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

func fatal(p *Pod) {
	loadFailed(p)
	p.Status.Revisions[0].Fatal, p.Status.Revisions[0].TakenBack = true, true
}

func reverted(p *Pod) {
	loadFailed(p)
	p.Status.Revisions[0].TakenBack = true
}

// TestRefusedForGood: no other pod loads a configuration that has ended a container, even after the
// pod that knew about it is gone.
func TestRefusedForGood(t *testing.T) {
	passed := tested(instanceapi.Passed)
	tests := map[string]struct {
		in    Input
		phase Phase
		fatal bool
		// takenBack is whether the configuration was served and rolled back without further damage.
		takenBack bool
	}{
		"a load that failed":           {Input{Stable: "old", Pods: []Pod{pod("a", loadFailed), pod("b", passed)}}, Rejected, false, false},
		"a load that was taken back":   {Input{Stable: "old", Pods: []Pod{pod("a", reverted), pod("b", passed)}}, Rejected, false, true},
		"a load that ended a pod":      {Input{Stable: "old", Pods: []Pod{pod("a", fatal), pod("b", passed)}}, Rejected, true, false},
		"the pod is gone":              {Input{Stable: "old", Refused: refusal, Pods: []Pod{pod("b", passed)}}, Rejected, true, false},
		"without any pod":              {Input{Stable: "old", Refused: refusal}, Rejected, true, false},
		"it is what pods start with":   {Input{Stable: "new", Refused: refusal, Pods: []Pod{pod("b", serving("new"))}}, Settled, false, false},
		"nothing has been refused yet": {Input{Stable: "old", Pods: []Pod{pod("b", passed)}}, Loading, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.in.Requested = "new"
			d := Decide(tt.in)
			if d.Phase != tt.phase || d.Fatal != tt.fatal || d.Reverted != (tt.fatal || tt.takenBack) {
				t.Errorf("%s, fatal %t, taken back %t; want %s, %t", d.Phase, d.Fatal, d.Reverted, tt.phase, tt.fatal)
			}
			if d.Phase != Rejected {
				return
			}
			if diff := cmp.Diff(refusal, d.Problems); diff != "" {
				t.Error(diff)
			}
			for name, requested := range d.Orders {
				if requested.Load == "new" {
					t.Errorf("pod %s is asked to load it", name)
				}
			}
		})
	}
}
