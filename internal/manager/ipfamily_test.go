package manager

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestIPFamily(t *testing.T) {
	for host, want := range map[string]corev1.IPFamily{"10.0.0.1": corev1.IPv4Protocol, "fd00::1": corev1.IPv6Protocol, "": "", "kubernetes": ""} {
		if got := ipFamily(func(string) string { return host }); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}
