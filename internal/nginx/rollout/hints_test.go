package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

func measured(p *Pod) {
	p.Status.Revisions = []instanceapi.Revision{{Revision: "new", Test: instanceapi.Passed, Usage: &instanceapi.Usage{Worker: 7}}}
}

// TestDryRuns: one pod of the template makes the dry run, and the others learn from their orders what it used. A pod whose
// orders mention no dry run makes its own.
func TestDryRuns(t *testing.T) {
	passed, toTest, wasUnreachable := tested(instanceapi.Passed), requested("new", ""), func(p *Pod) { p.Unreachable = true }
	later, known := &instanceapi.DryRun{}, &instanceapi.DryRun{Usage: &instanceapi.Usage{Worker: 7}}
	for name, tt := range map[string]struct {
		pods []Pod
		want map[string]*instanceapi.DryRun
	}{
		"a single pod makes its own":           {[]Pod{pod("a")}, map[string]*instanceapi.DryRun{}},
		"the first one makes it":               {[]Pod{pod("a"), pod("b"), pod("c")}, map[string]*instanceapi.DryRun{"b": later, "c": later}},
		"not if it cannot be reached":          {[]Pod{pod("a", wasUnreachable), pod("b"), pod("c")}, map[string]*instanceapi.DryRun{"a": later, "c": later}},
		"nor if it does not answer":            {[]Pod{pod("a", mute), pod("b"), pod("c")}, map[string]*instanceapi.DryRun{"c": later}},
		"nor if it is about to boot with it":   {[]Pod{pod("a", starting, bootsNew), pod("b")}, map[string]*instanceapi.DryRun{}},
		"a later pod waits for it":             {[]Pod{pod("a", toTest), pod("b")}, map[string]*instanceapi.DryRun{"b": later}},
		"or learns the result":                 {[]Pod{pod("a", toTest, measured), pod("b")}, map[string]*instanceapi.DryRun{"b": known}},
		"after the others, it makes its own":   {[]Pod{pod("a", toTest, passed), pod("b")}, map[string]*instanceapi.DryRun{}},
		"the canary has made it":               {[]Pod{pod("a", toTest, measured), pod("b", toTest, passed)}, map[string]*instanceapi.DryRun{"a": known}},
		"the pod that has made it is gone":     {[]Pod{pod("b", toTest, passed), pod("c", toTest, passed)}, map[string]*instanceapi.DryRun{}},
		"a wave learns the result":             {[]Pod{pod("a", serving("new"), measured), pod("b", toTest, passed), pod("c", toTest, passed)}, map[string]*instanceapi.DryRun{"b": known, "c": known}},
		"pods of old templates make their own": {[]Pod{pod("a"), pod("b", ofOldTemplate), pod("c")}, map[string]*instanceapi.DryRun{"c": later}},
		"and their results are of no use":      {[]Pod{pod("a", ofOldTemplate, measured), pod("b"), pod("c")}, map[string]*instanceapi.DryRun{"c": later}},
		"a pod that goes back gets no result":  {[]Pod{pod("a", serving("new"), measured), pod("b", toTest, tested(instanceapi.Failed))}, map[string]*instanceapi.DryRun{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Requested: "new", Stable: "old", Pods: tt.pods})
			got := map[string]*instanceapi.DryRun{}
			for name, hints := range d.Hints {
				if hints.DryRun != nil {
					got[name] = hints.DryRun
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s\norders %v", diff, d.Orders)
			}
		})
	}
}

// TestFirst: the others wait for the first answers of the first pod, and of no other one.
func TestFirst(t *testing.T) {
	passed, toTest := tested(instanceapi.Passed), requested("new", "")
	for name, tt := range map[string]struct {
		pods []Pod
		want []string
	}{
		"tests":                   {[]Pod{pod("a"), pod("b")}, nil},
		"the canary":              {[]Pod{pod("a", toTest, passed), pod("b", toTest, passed)}, []string{"a"}},
		"a wave":                  {[]Pod{pod("a", serving("new")), pod("b", toTest, passed), pod("c", toTest, passed)}, nil},
		"nobody waits":            {[]Pod{pod("a", toTest, passed)}, nil},
		"the way back":            {[]Pod{pod("a", requested("new", "new"), tested(instanceapi.Failed)), pod("b", toTest, passed)}, nil},
		"the last canary is gone": {[]Pod{pod("b", toTest, passed), pod("c", toTest, passed)}, []string{"b"}},
	} {
		var got []string
		d := Decide(Input{Requested: "new", Stable: "old", Pods: tt.pods})
		for name, hints := range d.Hints {
			if hints.First {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestNoneFirst: in a rollback all pods load at once, so none of them waits for its first answers.
func TestNoneFirst(t *testing.T) {
	passed, toTest := tested(instanceapi.Passed), requested("new", "")
	pods := []Pod{pod("a", toTest, passed), pod("b", toTest, passed), pod("c", toTest, passed)}
	for name, in := range map[string]Input{
		"a rollback": {Requested: "new", Stable: "old", Proven: true, Pods: pods},
		"stragglers": {Requested: "new", Stable: "new", Pods: pods},
	} {
		d := Decide(in)
		if len(d.Orders) != len(pods) {
			t.Errorf("%s: orders %v", name, d.Orders)
		}
		for pod, hints := range d.Hints {
			if hints.First {
				t.Errorf("%s: others wait for %s", name, pod)
			}
		}
	}
}
