package trouble

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Placed is a pod of a template, on its node.
type Placed struct {
	// Node is empty for a pod that no node has.
	Node    string
	Ready   bool
	Trouble *Trouble
}

// BadNodes are the nodes that are at fault rather than the template, with how many of its pods each holds up:
// these have trouble that is their node's, on which no pod of the template is ready, while pods of it are ready on
// as many other nodes at least. Without a ready pod, or with more nodes that fail, it is the template.
func BadNodes(pods []Placed) map[string]int {
	good, bad := map[string]bool{}, map[string]int{}
	for _, p := range pods {
		if p.Ready && p.Node != "" {
			good[p.Node] = true
		}
	}
	for _, p := range pods {
		if !p.Ready && p.Trouble != nil && p.Trouble.NodeLocal && p.Node != "" && !good[p.Node] {
			bad[p.Node]++
		}
	}
	if len(bad) > len(good) {
		return nil
	}
	return bad
}

// mostNodes is how many nodes a message names.
const mostNodes = 3

// OnNodes is the message of a trouble with the nodes of the pods that are in it, and those where pods of the
// template are ready.
func OnNodes(t Trouble, pods []Placed) string {
	ready, failing := map[string]bool{}, map[string]bool{}
	for _, p := range pods {
		switch {
		case p.Node == "":
		case p.Ready:
			ready[p.Node] = true
		case p.Trouble != nil && p.Trouble.Message == t.Message:
			failing[p.Node] = true
		}
	}
	if len(failing) == 0 {
		return t.Message
	}
	text := fmt.Sprintf("on %s: %s", named(failing), t.Message)
	if len(ready) > 0 {
		text = fmt.Sprintf("ready on %s; %s", named(ready), text)
	}
	return text
}

func named(nodes map[string]bool) string {
	names := slices.Sorted(maps.Keys(nodes))
	if more := len(names) - mostNodes; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNodes], ", "), more)
	}
	return strings.Join(names, ", ")
}
