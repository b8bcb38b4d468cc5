package desired

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestExposedPortsAreThoseOfTheService: at each moment of a rollout that changes the ports, the Ingress and the routes use
// a port that the Service has.
func TestExposedPortsAreThoseOfTheService(t *testing.T) {
	port := func(name string, number int32) v1alpha2.Port {
		return v1alpha2.Port{Name: name, Port: number, Protocol: corev1.ProtocolTCP}
	}
	for name, tt := range map[string]struct {
		before, after []v1alpha2.Port
		bad           bool
	}{
		"renamed":            {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("web", 80)}, false},
		"another number":     {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("http", 8080)}, false},
		"renamed, and moved": {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("web", 8080)}, false},
		"renamed, and fails": {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("web", 8080)}, true},
		"one comes":          {[]v1alpha2.Port{port("http", 80)}, []v1alpha2.Port{port("http", 80), port("admin", 81)}, false},
		"none before":        {[]v1alpha2.Port{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}, []v1alpha2.Port{port("http", 80)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSimulation(t)
			p.nginx.Spec.Ports = tt.before
			p.settle()
			first := p.deployment().Spec.Template.Annotations[naming.AnnotationTemplate]
			last := tt.after[len(tt.after)-1]
			p.nginx.Spec.Ports, p.nginx.Spec.Image = tt.after, new("nginx:2")
			p.nginx.Spec.Ingress = &v1alpha2.Ingress{Port: &last.Name, Hosts: []v1alpha2.IngressHost{{}}}
			p.nginx.Spec.HTTPRoutes = []v1alpha2.HTTPRoute{{Name: "main", Rules: []v1alpha2.HTTPRouteRule{{Backends: []v1alpha2.HTTPRouteBackend{{Port: &last.Port}}}}}}
			p.bad["nginx:2"] = tt.bad
			p.whilePodsAreOf(first, func() { checkExposedPorts(t, p) })
			p.settle()
			ingress, route := checkExposedPorts(t, p)
			if !tt.bad && (ingress != last.Name || route != last.Port) {
				t.Errorf("in the end, the Ingress uses port %s and the route port %d", ingress, route)
			}
		})
	}
}

// checkExposedPorts returns the port of the Ingress and that of the route.
func checkExposedPorts(t *testing.T, p *simulation) (name string, number int32) {
	t.Helper()
	for _, intent := range p.plan.Intents {
		switch config := intent.Config.(type) {
		case *networkingv1ac.IngressApplyConfiguration:
			name = *config.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Name
		case *customResource[external.HTTPRouteSpec]:
			number = config.Spec.Rules[0].BackendRefs[0].Port
		}
	}
	ports := p.service().Spec.Ports
	if !slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolTCP }) {
		if name == "" || number == 0 {
			t.Fatalf("the Ingress uses port %q, and the route port %d", name, number)
		}
		return name, number
	}
	if !slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Name == name }) {
		t.Fatalf("the Ingress uses port %q, and the Service has %+v", name, ports)
	}
	if !slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Port == number }) {
		t.Fatalf("the route uses port %d, and the Service has %+v", number, ports)
	}
	return name, number
}
