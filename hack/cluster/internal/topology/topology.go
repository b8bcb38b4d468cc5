// Package topology defines the addresses and names of the cluster.
package topology

import "fmt"

// Names, ports and limits.
const (
	// DNSDomain is the suffix of every service name.
	DNSDomain = "cluster.local"

	// APIServerPort is the port of the API server inside the cluster.
	APIServerPort = 6443

	// Bridge connects the nodes; it is node 1's interface.
	Bridge = "nodes"

	// MaxNodes is the number of nodes that the pod ranges and one machine can reasonably hold.
	MaxNodes = 9
)

// MaxPods is the maximum number of pods per node. A node's /23 range of IPv4 has as many addresses
// again for pods that are being replaced.
const MaxPods = 250

// Node is one node of the cluster, counted from 1.
type Node int

// Nodes returns the first n nodes.
func Nodes(n int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node(i + 1)
	}
	return nodes
}

// Name returns the node's name in the API, which is also its hostname.
func (n Node) Name() string { return fmt.Sprintf("node-%d", int(n)) }

// Zone returns the node's zone. Every node has its own, so that spreading can be tested.
func (n Node) Zone() string { return fmt.Sprintf("zone-%d", int(n)) }

// ControlPlane is the node whose network the control plane shares.
const ControlPlane = Node(1)
