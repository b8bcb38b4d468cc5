package topology

import (
	"fmt"
	"strings"
)

// Links renders the `ip -batch` commands that connect a node. Run them in the node's network
// namespace, after those of Join in node 1's.
//
// The routes to the service ranges lead nowhere on purpose: kube-proxy rewrites service addresses
// before anything is sent, but the kernel requires a route before it applies kube-proxy's rules.
func (n Network) Links(node Node, nodes []Node) string {
	var b strings.Builder
	device := "eth0"
	b.WriteString("link set lo up\n")
	if node == ControlPlane {
		device = Bridge
		fmt.Fprintf(&b, "link add %s type bridge\n", Bridge)
	}
	families := n.families()
	for _, family := range families {
		fmt.Fprintf(&b, "addr add %s dev %s\n", family.node(node), device)
	}
	fmt.Fprintf(&b, "link set %s up\n", device)
	for _, family := range families {
		fmt.Fprintf(&b, "route add %s dev %s\n", family.services, device)
		for _, other := range nodes {
			if other != node {
				fmt.Fprintf(&b, "route add %s via %s\n", family.nodePods(other), family.node(other).Addr())
			}
		}
	}
	return b.String()
}

// Join renders the `ip -batch` commands that connect a node to the bridge. Run them in node 1's
// network namespace. pid is a process on the node.
//
// When a node reaches its own pod through a node port of node 1, packets leave the bridge by the
// port they came in. The bridge would drop them without hairpin mode.
func (n Node) Join(pid int) string {
	return fmt.Sprintf(`link add %[1]s type veth peer name eth0 netns %[2]d
link set %[1]s master %[3]s up
link set %[1]s type bridge_slave hairpin on
`, n.Name(), pid, Bridge)
}
