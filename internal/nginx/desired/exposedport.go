package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// exposedPort returns the port of the Service that requests from outside the cluster are sent to: the declared TCP port
// that wanted selects, or else the first one. While a rollout replaces the ports, the Service still has the old ones: it
// is then that of the same name or number, or else the first one. A Service without a TCP port gets the declared one.
func (in *input) exposedPort(wanted func(v1alpha2.Port) bool) (v1alpha2.Port, error) {
	declared := tcpPort(podtemplate.Ports(&in.app.Spec), wanted)
	served, err := in.portsServed()
	if err != nil {
		return declared, err
	}
	for _, same := range []func(v1alpha2.Port) bool{
		sameName(declared),
		func(p v1alpha2.Port) bool { return p.Port == declared.Port },
	} {
		if i := slices.IndexFunc(served, func(p v1alpha2.Port) bool { return isTCP(p) && same(p) }); i >= 0 {
			return served[i], nil
		}
	}
	if i := slices.IndexFunc(served, isTCP); i >= 0 {
		return served[i], nil
	}
	return declared, nil
}

// tcpPort returns the TCP port that wanted selects, or else the first one; zero if there is none.
func tcpPort(ports []v1alpha2.Port, wanted func(v1alpha2.Port) bool) v1alpha2.Port {
	if i := slices.IndexFunc(ports, func(p v1alpha2.Port) bool { return isTCP(p) && wanted != nil && wanted(p) }); i >= 0 {
		return ports[i]
	}
	if i := slices.IndexFunc(ports, isTCP); i >= 0 {
		return ports[i]
	}
	return v1alpha2.Port{}
}

func isTCP(p v1alpha2.Port) bool { return p.Protocol == corev1.ProtocolTCP || p.Protocol == "" }
