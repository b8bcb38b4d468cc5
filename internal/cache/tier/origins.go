package tier

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// Origins are the NginxOperators that are origins of a cache.
type Origins struct {
	// Missing says which of them cannot be requested; empty if all can.
	Missing string

	// ports are the ports of their Services, by name.
	ports map[string]int32
}

// FindOrigins looks up the NginxOperators that a cache names. get returns nil for one that does not exist.
func FindOrigins(cache *v1alpha1.NginxCache, get func(name string) (*v1alpha2.NginxOperator, error)) (Origins, error) {
	found := Origins{ports: map[string]int32{}}
	for i, origin := range cache.Spec.Origins {
		if origin.NginxOperator == nil {
			continue
		}
		name := origin.NginxOperator.Name
		nginx, err := get(name)
		if err != nil {
			return Origins{}, err
		}
		problem := ""
		if nginx == nil {
			problem = "does not exist"
		} else if found.ports[name] = httpPort(nginx.Spec.Ports); found.ports[name] == 0 {
			problem = "has no TCP port"
		}
		if problem != "" && found.Missing == "" {
			found.Missing = fmt.Sprintf("spec.origins[%d]: NginxOperator %s %s: requests to it fail until then, and everything else is carried out", i, name, problem)
		}
	}
	return found, nil
}

// httpPort returns the number of the port called http, or else of the first TCP port; 0 if there is none.
func httpPort(ports []v1alpha2.Port) int32 {
	var first int32
	for _, p := range ports {
		switch {
		case p.Protocol == corev1.ProtocolUDP:
		case p.Name == "http":
			return p.Port
		case first == 0:
			first = p.Port
		}
	}
	return first
}
