package poddiagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PodOnNode is a pod of a template, with its node.
type PodOnNode struct {
	// Node is empty for a pod without a node.
	Node      string
	Ready     bool
	Diagnosis *Diagnosis
}

// BadNodes returns the nodes that are the cause rather than the template, with the number of pods
// that each one affects. On such a node, pods have a node-local diagnosis and no pod of the
// template is ready. If there are more such nodes than nodes with ready pods, the template is the
// cause, and the result is nil.
func BadNodes(pods []PodOnNode) map[string]int {
	good, bad := map[string]bool{}, map[string]int{}
	for _, p := range pods {
		if p.Ready && p.Node != "" {
			good[p.Node] = true
		}
	}
	for _, p := range pods {
		if !p.Ready && p.Diagnosis != nil && p.Diagnosis.NodeLocal && p.Node != "" && !good[p.Node] {
			bad[p.Node]++
		}
	}
	if len(bad) > len(good) {
		return nil
	}
	return bad
}

// mostNodes bounds how many nodes a message names.
const mostNodes = 3

// MessageWithNodes returns the message of a diagnosis, with the nodes of the pods that have it and the nodes
// on which pods of the template are ready.
func MessageWithNodes(t Diagnosis, pods []PodOnNode) string {
	ready, failing := map[string]bool{}, map[string]bool{}
	for _, p := range pods {
		switch {
		case p.Node == "":
		case p.Ready:
			ready[p.Node] = true
		case p.Diagnosis != nil && p.Diagnosis.Message == t.Message:
			failing[p.Node] = true
		}
	}
	if len(failing) == 0 {
		return t.Message
	}
	text := fmt.Sprintf("on %s: %s", joinNodeNames(failing), t.Message)
	if len(ready) > 0 {
		text = fmt.Sprintf("ready on %s; %s", joinNodeNames(ready), text)
	}
	return text
}

func joinNodeNames(nodes map[string]bool) string {
	names := slices.Sorted(maps.Keys(nodes))
	if more := len(names) - mostNodes; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNodes], ", "), more)
	}
	return strings.Join(names, ", ")
}
