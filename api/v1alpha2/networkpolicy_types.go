package v1alpha2

import networkingv1 "k8s.io/api/networking/v1"

// NetworkPolicy is the NetworkPolicy of the pods. It has an effect only if the cluster's
// network plugin enforces NetworkPolicies.
type NetworkPolicy struct {
	// ingressFrom are the peers that may connect to the ports of spec.ports, such as the namespace of
	// an ingress controller. An empty list admits none. Port 9113 of the pods stays open to all: the
	// operator controls the instances there, and Prometheus scrapes them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(p, has(p.ipBlock) || has(p.podSelector) || has(p.namespaceSelector))",message="a peer needs ipBlock, podSelector or namespaceSelector"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.ipBlock) || !has(p.podSelector) && !has(p.namespaceSelector))",message="a peer with ipBlock must set neither podSelector nor namespaceSelector"
	IngressFrom []networkingv1.NetworkPolicyPeer `json:"ingressFrom,omitempty"`
}
