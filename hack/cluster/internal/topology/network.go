package topology

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Network is the address families of a cluster. The first family is the primary one: Services get
// their address from it unless they request another one, and the API server is reached by it.
type Network string

// The networks, by the names that users give them.
const (
	IPv4          Network = "ipv4"
	IPv6          Network = "ipv6"
	DualStack     Network = "dual-stack"
	DualStackIPv6 Network = "dual-stack-ipv6"
)

// Networks lists all networks.
var Networks = []Network{IPv4, IPv6, DualStack, DualStackIPv6}

// ranges are the addresses of one family.
type ranges struct {
	pods, services string
	// apiService is the address of the `kubernetes` Service: always the first one of the range.
	apiService string
	// dns is the address at which pods reach CoreDNS.
	dns string
	// registry is the address of the Service of the image registry.
	registry string
	// node returns a node's address, with the length of the prefix of all nodes.
	node func(Node) netip.Prefix
	// nodePods returns the node's share of the pods.
	nodePods func(Node) netip.Prefix
	// everything is the destination of a default route.
	everything string
}

// The cluster's network has no uplink, so the ranges can be the same on every machine: they cannot
// collide with a network outside.
var (
	rangesIPv4 = ranges{
		pods:       "10.20.0.0/16",
		services:   "10.30.0.0/16",
		apiService: "10.30.0.1",
		dns:        "10.30.0.10",
		registry:   "10.30.0.20",
		node:       func(n Node) netip.Prefix { return prefix("10.10.0.%d/24", int(n)) },
		nodePods:   func(n Node) netip.Prefix { return prefix("10.20.%d.0/23", 2*(int(n)-1)) },
		everything: "0.0.0.0/0",
	}
	// Unique local addresses (RFC 4193). The API server limits the size of the service range to 2^20.
	rangesIPv6 = ranges{
		pods:       "fd00:10:20::/56",
		services:   "fd00:10:30::/112",
		apiService: "fd00:10:30::1",
		dns:        "fd00:10:30::a",
		registry:   "fd00:10:30::14",
		node:       func(n Node) netip.Prefix { return prefix("fd00:10:10::%x/64", int(n)) },
		nodePods:   func(n Node) netip.Prefix { return prefix("fd00:10:20:%x::/64", int(n)-1) },
		everything: "::/0",
	}
)

// ParseNetwork returns the network of that name.
func ParseNetwork(name string) (Network, error) {
	names := make([]string, len(Networks))
	for i, network := range Networks {
		if string(network) == name {
			return network, nil
		}
		names[i] = string(network)
	}
	return "", fmt.Errorf("%q is not an IP family: it must be one of %s", name, strings.Join(names, ", "))
}

// families returns the ranges of each family, the primary one first.
func (n Network) families() []ranges {
	switch n {
	case IPv6:
		return []ranges{rangesIPv6}
	case DualStack:
		return []ranges{rangesIPv4, rangesIPv6}
	case DualStackIPv6:
		return []ranges{rangesIPv6, rangesIPv4}
	default:
		return []ranges{rangesIPv4}
	}
}

// HasIPv6 reports whether nodes and pods have IPv6 addresses.
func (n Network) HasIPv6() bool { return n != IPv4 }

// PodCIDRs returns the pod range of each family.
func (n Network) PodCIDRs() []string {
	return each(n, func(r ranges) string { return r.pods })
}

// ServiceCIDRs returns the service range of each family.
func (n Network) ServiceCIDRs() []string {
	return each(n, func(r ranges) string { return r.services })
}

// APIServiceIP returns the address of the `kubernetes` Service, which is always of one family.
func (n Network) APIServiceIP() string { return n.families()[0].apiService }

// DNSIPs returns the addresses of the Service of CoreDNS.
func (n Network) DNSIPs() []string {
	return each(n, func(r ranges) string { return r.dns })
}

// NodeIPs returns a node's addresses.
func (n Network) NodeIPs(node Node) []string {
	return each(n, func(r ranges) string { return r.node(node).Addr().String() })
}

// NodeIP returns a node's primary address.
func (n Network) NodeIP(node Node) string { return n.NodeIPs(node)[0] }

// NodePodCIDRs returns the node's shares of the pod ranges.
func (n Network) NodePodCIDRs(node Node) []string {
	return each(n, func(r ranges) string { return r.nodePods(node).String() })
}

// PodRange is what the CNI plugins have to know of a family.
type PodRange struct {
	// CIDR is the node's share, and Gateway the node's own address in it.
	CIDR, Gateway string
	// DefaultRoute is the destination of the default route.
	DefaultRoute string
}

// PodRanges returns a node's ranges.
func (n Network) PodRanges(node Node) []PodRange {
	return each(n, func(r ranges) PodRange {
		pods := r.nodePods(node)
		return PodRange{CIDR: pods.String(), Gateway: pods.Addr().Next().String(), DefaultRoute: r.everything}
	})
}

// APIServerAddress returns the host and port of the API server inside the cluster.
func (n Network) APIServerAddress() string {
	return net.JoinHostPort(n.NodeIP(ControlPlane), strconv.Itoa(APIServerPort))
}

// APIServer returns the URL of the API server inside the cluster.
func (n Network) APIServer() string { return "https://" + n.APIServerAddress() }

func each[T any](n Network, value func(ranges) T) []T {
	families := n.families()
	values := make([]T, len(families))
	for i, family := range families {
		values[i] = value(family)
	}
	return values
}

func prefix(format string, number int) netip.Prefix {
	return netip.MustParsePrefix(fmt.Sprintf(format, number))
}
