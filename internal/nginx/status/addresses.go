package status

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// mostAddresses is the limit of the schema.
const mostAddresses = 16

// addresses returns where clients reach the application: its Service first.
func (v *view) addresses() []v1alpha2.Address {
	all := v.serviceAddresses()
	for _, a := range v.exposedAddresses() {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all[:min(len(all), mostAddresses)]
}

func (v *view) serviceAddresses() []v1alpha2.Address {
	service := v.in.State.Service(v.in.Nginx.Name)
	switch {
	case service == nil:
		return nil
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
		var all []v1alpha2.Address
		for _, i := range service.Status.LoadBalancer.Ingress {
			all = append(all, addressesOf(i.IP, i.Hostname)...)
		}
		return sortAddresses(all)
	}
	// The kubelets know the cluster's domain, not the operator, so the name is without it:
	// https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
	return []v1alpha2.Address{{Type: v1alpha2.HostnameType, Value: service.Name + "." + v.in.Nginx.Namespace + ".svc"}}
}

// addressesOf returns those of an entry of a load balancer.
func addressesOf(ip, hostname string) []v1alpha2.Address {
	var all []v1alpha2.Address
	if ip != "" {
		all = append(all, v1alpha2.Address{Type: v1alpha2.IPAddressType, Value: ip})
	}
	if hostname != "" {
		all = append(all, v1alpha2.Address{Type: v1alpha2.HostnameType, Value: hostname})
	}
	return all
}

// sortAddresses returns addresses sorted, each once: a controller that lists them in changing order must not cause writes.
func sortAddresses(all []v1alpha2.Address) []v1alpha2.Address {
	slices.SortFunc(all, func(a, b v1alpha2.Address) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
	})
	return slices.Compact(all)
}

// noAddress names a Service that waits for its load balancer; empty if it does not. This is no reason to be unready:
// without a controller for load balancers, it would wait forever.
func (v *view) noAddress() string {
	service := v.in.State.Service(v.in.Nginx.Name)
	if service == nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 {
		return ""
	}
	return fmt.Sprintf("; Service %[1]s has no load balancer address yet: clients outside the cluster cannot reach the application; its events say why (kubectl describe service %[1]s)",
		service.Name)
}
