package manager

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// ipFamily returns the first address family of the cluster: that of the API server's Service. It is empty outside of a
// cluster.
func ipFamily(getenv func(string) string) corev1.IPFamily {
	address, err := netip.ParseAddr(getenv("KUBERNETES_SERVICE_HOST"))
	switch {
	case err != nil:
		return ""
	case address.Unmap().Is4():
		return corev1.IPv4Protocol
	default:
		return corev1.IPv6Protocol
	}
}
