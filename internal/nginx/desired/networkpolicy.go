package desired

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// networkPolicy admits the declared peers to the ports of the application. The port of the instance manager
// stays open: the operator could not roll out a configuration otherwise, and its address is not known.
func networkPolicy(in *input) (object, error) {
	want := in.app.Spec.NetworkPolicy
	if want == nil {
		return object{}, nil
	}
	peers, err := podtemplate.ConvertAll[networkingv1ac.NetworkPolicyPeerApplyConfiguration](want.IngressFrom)
	if err != nil {
		return object{}, err
	}
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(in.selector()).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithPorts(policyPort(instanceapi.Port, corev1.ProtocolTCP)))
	if len(peers) > 0 {
		// A rule without peers would admit all.
		ports, err := in.policyPorts()
		if err != nil {
			return object{}, err
		}
		spec.WithIngress(networkingv1ac.NetworkPolicyIngressRule().WithFrom(peers...).WithPorts(ports...))
	}
	policy := networkingv1ac.NetworkPolicy(in.app.Name, in.app.Namespace).WithSpec(spec)
	policy.ObjectMetaApplyConfiguration = in.meta(in.app.Name)
	return object{policy, policy.ObjectMetaApplyConfiguration}, nil
}

// policyPorts returns the ports of all pods, also of those that a rollout replaces.
func (in *input) policyPorts() ([]*networkingv1ac.NetworkPolicyPortApplyConfiguration, error) {
	all, err := in.portsOfPods()
	if err != nil {
		return nil, err
	}
	var ports []*networkingv1ac.NetworkPolicyPortApplyConfiguration
	known := map[string]bool{}
	for _, p := range slices.Concat(all...) {
		number := podtemplate.TargetPort(p)
		if id := fmt.Sprint(number, p.Protocol); !known[id] {
			known[id] = true
			ports = append(ports, policyPort(number, p.Protocol))
		}
	}
	return ports, nil
}

func policyPort(number int32, protocol corev1.Protocol) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(number))
}
