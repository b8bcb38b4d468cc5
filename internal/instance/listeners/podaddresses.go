package listeners

import (
	"net"
	"net/netip"
)

// Addresses returns the addresses by which a Service or another pod reaches this pod. It returns
// none if they cannot be found.
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
