package restoration

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// ownExposure gives an application that is restored under another name its own exposure: that of the existing target, or
// none. It returns the fields of the backup that are left out.
//
// The original may still run. Two applications cannot have the same node port, and must not share the hosts of an Ingress
// or a route, the address of a load balancer, a DNS name from an annotation, or a Secret that cert-manager fills.
func (m *builder) ownExposure(spec *v1alpha2.NginxOperatorSpec) []string {
	if m.Target == m.backup.Nginx.Name || !m.includes(v1alpha1.RestoreSpec) {
		return nil
	}
	own := &v1alpha2.NginxOperatorSpec{}
	if m.live.Nginx != nil {
		own = m.live.Nginx.Spec.DeepCopy()
	}
	var left leftOut
	keepOwn(&left, "spec.ingress", &spec.Ingress, own.Ingress)
	keepOwn(&left, "spec.httpRoutes", &spec.HTTPRoutes, own.HTTPRoutes)
	left.service(spec, own)
	for i := range spec.Ports {
		saved := &spec.Ports[i]
		existing := find(own.Ports, func(p v1alpha2.Port) bool { return p.Name == saved.Name })
		keepOwn(&left, "spec.ports["+saved.Name+"].nodePort", &saved.NodePort, existing.NodePort)
	}
	for i := range spec.TLS {
		saved := &spec.TLS[i]
		existing := find(own.TLS, func(c v1alpha2.Certificate) bool { return c.Name == saved.Name })
		keepOwn(&left, "spec.tls["+saved.Name+"].certificate", &saved.Certificate, existing.Certificate)
	}
	return left
}

// leftOut are the fields of a backup that are not restored.
type leftOut []string

// service leaves out how the Service is published, and its annotations, which configure load balancers and DNS names.
func (l *leftOut) service(spec, own *v1alpha2.NginxOperatorSpec) {
	if spec.Service == nil && own.Service == nil {
		return
	}
	saved, existing := ptr.Deref(spec.Service, v1alpha2.Service{}), ptr.Deref(own.Service, v1alpha2.Service{})
	for _, s := range []*v1alpha2.Service{&saved, &existing} {
		if s.Type == corev1.ServiceTypeClusterIP {
			s.Type = "" // the default exposes nothing
		}
	}
	keepOwn(l, "spec.service.type", &saved.Type, existing.Type)
	keepOwn(l, "spec.service.annotations", &saved.Annotations, existing.Annotations)
	keepOwn(l, "spec.service.externalTrafficPolicy", &saved.ExternalTrafficPolicy, existing.ExternalTrafficPolicy)
	keepOwn(l, "spec.service.loadBalancerClass", &saved.LoadBalancerClass, existing.LoadBalancerClass)
	keepOwn(l, "spec.service.loadBalancerSourceRanges", &saved.LoadBalancerSourceRanges, existing.LoadBalancerSourceRanges)
	keepOwn(l, "spec.service.allocateLoadBalancerNodePorts", &saved.AllocateLoadBalancerNodePorts, existing.AllocateLoadBalancerNodePorts)
	if saved.Type == "" {
		saved.Type = corev1.ServiceTypeClusterIP
	}
	spec.Service = &saved
}

// keepOwn replaces a saved value, and records the field if the value is lost.
func keepOwn[T any](l *leftOut, field string, saved *T, own T) {
	if !reflect.ValueOf(saved).Elem().IsZero() && !apiequality.Semantic.DeepEqual(*saved, own) {
		*l = append(*l, field)
	}
	*saved = own
}

// find returns the first element for which a condition holds, or the zero value.
func find[T any](list []T, holds func(T) bool) T {
	if i := slices.IndexFunc(list, holds); i >= 0 {
		return list[i]
	}
	var none T
	return none
}

// withLeftOut adds the fields that are left out to the description of a change.
func withLeftOut(difference string, fields []string) string {
	if len(fields) == 0 {
		return difference
	}
	return strings.TrimPrefix(difference+"; not restored: "+listed(fields), "; ")
}
