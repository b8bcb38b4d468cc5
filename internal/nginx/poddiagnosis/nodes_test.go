package poddiagnosis

import (
	"maps"
	"testing"
)

func TestBadNodes(t *testing.T) {
	local, own := &Diagnosis{Message: "pull", NodeLocal: true}, &Diagnosis{Message: "crash"}
	ready := func(node string) PodOnNode { return PodOnNode{Node: node, Ready: true} }
	stuck := func(node string, t *Diagnosis) PodOnNode { return PodOnNode{Node: node, Diagnosis: t} }
	tests := map[string]struct {
		pods []PodOnNode
		want map[string]int
		text string
	}{
		"one of two":           {[]PodOnNode{ready("a"), stuck("b", local)}, map[string]int{"b": 1}, "ready on a; on b: pull"},
		"two pods of one node": {[]PodOnNode{ready("a"), stuck("b", local), stuck("b", local)}, map[string]int{"b": 2}, "ready on a; on b: pull"},
		"the only node":        {[]PodOnNode{stuck("b", local)}, nil, "on b: pull"},
		"all of several":       {[]PodOnNode{stuck("b", local), stuck("a", local)}, nil, "on a, b: pull"},
		"most":                 {[]PodOnNode{ready("a"), stuck("b", local), stuck("c", local)}, nil, "ready on a; on b, c: pull"},
		"the pod's own fault":  {[]PodOnNode{ready("a"), stuck("b", own)}, map[string]int{}, "pull"},
		"ready there as well":  {[]PodOnNode{ready("a"), stuck("a", local)}, map[string]int{}, "ready on a; on a: pull"},
		"no node":              {[]PodOnNode{ready("a"), stuck("", local)}, map[string]int{}, "pull"},
		"more than are listed": {[]PodOnNode{stuck("e", local), stuck("b", local), stuck("c", local), stuck("d", local)}, nil, "on b, c, d and 1 more: pull"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := BadNodes(tt.pods); !maps.Equal(got, tt.want) {
				t.Errorf("bad nodes: %v, want %v", got, tt.want)
			}
			if got := MessageWithNodes(*local, tt.pods); got != tt.text {
				t.Errorf("%q, want %q", got, tt.text)
			}
		})
	}
}
