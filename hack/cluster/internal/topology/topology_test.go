package topology

import (
	"net/netip"
	"testing"

	"example.com/nginx-operator/hack/cluster/internal/golden"
)

func TestLinks(t *testing.T) {
	nodes := Nodes(3)
	for _, node := range nodes {
		golden.Check(t, node.Name()+".links", []byte(node.Links(nodes)))
	}
	golden.Check(t, "node-2.join", []byte(Node(2).Join(42)))
}

// TestPodCIDRs: the ranges of the nodes are in the pod range, do not overlap, and have room for the
// pods.
func TestPodCIDRs(t *testing.T) {
	pods := netip.MustParsePrefix(PodCIDR)
	var seen []netip.Prefix
	for _, node := range Nodes(MaxNodes) {
		prefix := netip.MustParsePrefix(node.PodCIDR())
		if prefix != prefix.Masked() {
			t.Errorf("%s: %s is not the beginning of a range", node.Name(), prefix)
		}
		if !pods.Contains(prefix.Addr()) {
			t.Errorf("%s: %s is not in %s", node.Name(), prefix, pods)
		}
		if addresses := 1<<(32-prefix.Bits()) - 3; addresses < MaxPods {
			t.Errorf("%s: %s has %d addresses for %d pods", node.Name(), prefix, addresses, MaxPods)
		}
		if gateway := netip.MustParseAddr(node.PodGateway()); !prefix.Contains(gateway) {
			t.Errorf("%s: the gateway %s is not in %s", node.Name(), gateway, prefix)
		}
		for _, other := range seen {
			if other.Overlaps(prefix) {
				t.Errorf("%s: %s overlaps %s", node.Name(), prefix, other)
			}
		}
		seen = append(seen, prefix)
	}
}

func TestServiceAddresses(t *testing.T) {
	services := netip.MustParsePrefix(ServiceCIDR)
	if got := services.Addr().Next().String(); got != APIServiceIP {
		t.Errorf("the first service address is %s, not %s", got, APIServiceIP)
	}
	if !services.Contains(netip.MustParseAddr(DNSIP)) {
		t.Errorf("%s is not in %s", DNSIP, services)
	}
}
