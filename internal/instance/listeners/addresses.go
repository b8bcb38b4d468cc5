package listeners

import (
	"net"
	"net/netip"
)

// Addresses are those by which others reach the pod: a Service, or another pod. None are
// returned when they cannot be found out.
func Addresses() []netip.Addr {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var found []netip.Addr
	for _, a := range all {
		network, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if address, ok := netip.AddrFromSlice(network.IP); ok && address.IsGlobalUnicast() {
			found = append(found, address.Unmap())
		}
	}
	return found
}
