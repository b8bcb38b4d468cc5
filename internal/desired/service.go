package desired

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/naming"
)

// service gives the application a stable address.
func service(in *input) (object, error) {
	svc, err := decode[corev1ac.ServiceApplyConfiguration]("service.yaml")
	if err != nil {
		return object{}, err
	}
	svc.ObjectMetaApplyConfiguration = in.meta(naming.Service(in.nginx.Name))
	svc.Spec.WithSelector(naming.SelectorLabels(in.nginx.Name))
	for _, p := range in.ports() {
		port := corev1ac.ServicePort().
			WithName(p.Name).
			WithPort(p.Port).
			WithTargetPort(intstr.FromString(p.Name)).
			WithProtocol(p.Protocol)
		port.NodePort = p.NodePort
		svc.Spec.WithPorts(port)
	}
	if want := in.nginx.Spec.Service; want != nil {
		svc.WithAnnotations(want.Annotations)
		svc.Spec.WithType(want.Type)
		svc.Spec.ExternalTrafficPolicy = want.ExternalTrafficPolicy
		svc.Spec.LoadBalancerClass = want.LoadBalancerClass
		svc.Spec.LoadBalancerSourceRanges = want.LoadBalancerSourceRanges
		svc.Spec.SessionAffinity = want.SessionAffinity
		svc.Spec.TrafficDistribution = want.TrafficDistribution
	}
	return object{svc, svc.ObjectMetaApplyConfiguration}, nil
}
