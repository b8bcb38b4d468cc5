package desired

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
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
	for _, p := range in.servicePorts() {
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

// servicePorts are those of the revision that runs: one that is gone back to may have
// others than the spec. Node ports are the Service's own, so they are the spec's.
func (in *input) servicePorts() []v1alpha2.Port {
	all := slices.Clone(ports(&in.course.run.spec))
	for i := range all {
		for _, p := range in.nginx.Spec.Ports {
			if p.Name == all[i].Name {
				all[i].NodePort = p.NodePort
			}
		}
	}
	return all
}
