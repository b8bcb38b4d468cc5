package topology

import (
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"example.com/nginx-operator/hack/cluster/internal/golden"
)

func TestLinks(t *testing.T) {
	nodes := Nodes(3)
	for _, network := range Networks {
		for _, node := range nodes {
			golden.Check(t, filepath.Join(string(network), node.Name()+".links"), []byte(network.Links(node, nodes)))
		}
	}
	golden.Check(t, "node-2.join", []byte(Node(2).Join(42)))
}

// TestPodRanges: the ranges of the nodes are in the pod range, do not overlap, and have room for
// the pods.
func TestPodRanges(t *testing.T) {
	for _, network := range []Network{IPv4, IPv6} {
		pods := netip.MustParsePrefix(network.PodCIDRs()[0])
		var seen []netip.Prefix
		for _, node := range Nodes(MaxNodes) {
			given := network.PodRanges(node)[0]
			prefix := netip.MustParsePrefix(given.CIDR)
			if prefix != prefix.Masked() {
				t.Errorf("%s: %s is not the beginning of a range", node.Name(), prefix)
			}
			if !pods.Contains(prefix.Addr()) {
				t.Errorf("%s: %s is not in %s", node.Name(), prefix, pods)
			}
			if bits := prefix.Addr().BitLen() - prefix.Bits(); bits < 32 && 1<<bits-3 < MaxPods {
				t.Errorf("%s: %s has %d addresses for %d pods", node.Name(), prefix, 1<<bits-3, MaxPods)
			}
			if gateway := netip.MustParseAddr(given.Gateway); !prefix.Contains(gateway) {
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
}

func TestServiceAddresses(t *testing.T) {
	for _, network := range []Network{IPv4, IPv6} {
		services := netip.MustParsePrefix(network.ServiceCIDRs()[0])
		if got := services.Addr().Next().String(); got != network.APIServiceIP() {
			t.Errorf("the first service address is %s, not %s", got, network.APIServiceIP())
		}
		for _, address := range append(network.DNSIPs(), network.RegistryIPs()...) {
			if !services.Contains(netip.MustParseAddr(address)) {
				t.Errorf("%s is not in %s", address, services)
			}
		}
	}
}

// TestFamilies: the family that the name says comes first.
func TestFamilies(t *testing.T) {
	tests := map[Network][]string{
		IPv4:          {"10.10.0.1"},
		IPv6:          {"fd00:10:10::1"},
		DualStack:     {"10.10.0.1", "fd00:10:10::1"},
		DualStackIPv6: {"fd00:10:10::1", "10.10.0.1"},
	}
	for _, network := range Networks {
		parsed, err := ParseNetwork(string(network))
		if err != nil {
			t.Error(err)
		}
		if got := parsed.NodeIPs(1); !slices.Equal(got, tests[network]) {
			t.Errorf("%s: the addresses of node 1 are %v, want %v", network, got, tests[network])
		}
	}
	if _, err := ParseNetwork("dual"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
