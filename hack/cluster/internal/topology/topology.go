// Package topology defines the addresses and names of the cluster.
//
// The cluster's network has no uplink, so the ranges can be the same on every machine: they cannot
// collide with a network outside.
package topology

import (
	"fmt"
	"net/netip"
)

// Ranges and fixed addresses.
const (
	PodCIDR     = "10.20.0.0/16"
	ServiceCIDR = "10.30.0.0/16"

	// APIServiceIP is the address of the `kubernetes` Service: always the first one of the range.
	APIServiceIP = "10.30.0.1"
	// DNSIP is the address at which pods reach CoreDNS.
	DNSIP = "10.30.0.10"

	// DNSDomain is the suffix of every service name.
	DNSDomain = "cluster.local"

	// APIServerPort is the port of the API server inside the cluster.
	APIServerPort = 6443

	// Bridge connects the nodes; it is node 1's interface.
	Bridge = "nodes"

	// MaxNodes is the number of nodes that the pod range and one machine can reasonably hold.
	MaxNodes = 9
)

// MaxPods is the maximum number of pods per node. A node's /23 range has as many addresses again
// for pods that are being replaced.
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

// IP returns the node's address.
func (n Node) IP() string { return fmt.Sprintf("10.10.0.%d", int(n)) }

// PodCIDR returns the node's share of the pod range.
func (n Node) PodCIDR() string { return fmt.Sprintf("10.20.%d.0/23", 2*(int(n)-1)) }

// PodGateway returns the node's own address on its pod bridge.
func (n Node) PodGateway() string {
	return netip.MustParsePrefix(n.PodCIDR()).Addr().Next().String()
}

// ControlPlane is the node whose network the control plane shares.
const ControlPlane = Node(1)

// APIServer returns the URL of the API server inside the cluster.
func APIServer() string { return fmt.Sprintf("https://%s:%d", ControlPlane.IP(), APIServerPort) }
