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

// addresses returns where clients reach the Service.
func (v *view) addresses() []v1alpha2.Address {
	service := v.in.State.Service(v.in.Nginx.Name)
	switch {
	case service == nil:
		return nil
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
		return balanced(service.Status.LoadBalancer.Ingress)
	}
	// The kubelets know the cluster's domain, not the operator, so the name is without it:
	// https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
	return []v1alpha2.Address{{Type: v1alpha2.HostnameType, Value: service.Name + "." + v.in.Nginx.Namespace + ".svc"}}
}

// balanced returns the addresses of a load balancer, sorted: a controller that lists them in changing order must not
// cause writes.
func balanced(ingress []corev1.LoadBalancerIngress) []v1alpha2.Address {
	var all []v1alpha2.Address
	for _, i := range ingress {
		if i.IP != "" {
			all = append(all, v1alpha2.Address{Type: v1alpha2.IPAddressType, Value: i.IP})
		}
		if i.Hostname != "" {
			all = append(all, v1alpha2.Address{Type: v1alpha2.HostnameType, Value: i.Hostname})
		}
	}
	slices.SortFunc(all, func(a, b v1alpha2.Address) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
	})
	all = slices.Compact(all)
	return all[:min(len(all), mostAddresses)]
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
