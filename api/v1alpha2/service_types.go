package v1alpha2

import corev1 "k8s.io/api/core/v1"

// Service configures the Service in front of the pods. Its name is the application's.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || self.type == 'LoadBalancer'",message="service.loadBalancerClass needs service.type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerSourceRanges) || self.type == 'LoadBalancer'",message="service.loadBalancerSourceRanges needs service.type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || self.type != 'ClusterIP'",message="service.externalTrafficPolicy needs service.type NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.headless) || !self.headless || self.type == 'ClusterIP'",message="service.headless needs service.type ClusterIP"
// +kubebuilder:validation:XValidation:rule="!has(self.allocateLoadBalancerNodePorts) || self.type == 'LoadBalancer'",message="service.allocateLoadBalancerNodePorts needs service.type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.sessionAffinityTimeoutSeconds) || has(self.sessionAffinity) && self.sessionAffinity == 'ClientIP'",message="service.sessionAffinityTimeoutSeconds needs service.sessionAffinity ClientIP"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || self.ipFamilies.size() < 2 || has(self.ipFamilyPolicy) && self.ipFamilyPolicy != 'SingleStack'",message="two service.ipFamilies need service.ipFamilyPolicy PreferDualStack or RequireDualStack"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.loadBalancerClass) && self.type == 'LoadBalancer' && oldSelf.type == 'LoadBalancer') || (has(self.loadBalancerClass) && self.loadBalancerClass == oldSelf.loadBalancerClass)",message="service.loadBalancerClass cannot be changed while the type is LoadBalancer: change the type first"
type Service struct {
	// type is how the Service is published.
	// +optional
	// +default="ClusterIP"
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// headless gives the Service no address of its own: its DNS name resolves to the addresses of
	// the ready pods. A change deletes the Service and creates it again.
	// +optional
	Headless *bool `json:"headless,omitempty"`
	// labels are added to the Service. The app.kubernetes.io keys that the operator sets
	// cannot be overridden.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('operator.example.com/'))",message="labels of operator.example.com belong to the operator: choose other keys"
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are added to the Service, for example to configure a cloud load balancer.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
	// externalTrafficPolicy is Cluster or Local (which preserves the client's address).
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy *corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
	// loadBalancerClass names the load balancer implementation.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
	// loadBalancerSourceRanges are the client networks that the load balancer admits, as CIDRs.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=49
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`
	// sessionAffinity is None or ClientIP.
	// +optional
	// +kubebuilder:validation:Enum=None;ClientIP
	SessionAffinity *corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`
	// sessionAffinityTimeoutSeconds is how long a client keeps its pod without requests, in seconds,
	// with sessionAffinity ClientIP. Unset: 10800 (3 hours).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	SessionAffinityTimeoutSeconds *int32 `json:"sessionAffinityTimeoutSeconds,omitempty"`
	// ipFamilyPolicy is SingleStack, PreferDualStack or RequireDualStack. Unset: SingleStack if
	// ipFamilies has one family; otherwise that of the Service, and a new one is SingleStack in the
	// cluster's first family. Set SingleStack to leave dual-stack.
	// +optional
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	IPFamilyPolicy *corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`
	// ipFamilies are the families of the Service's addresses, the first one first. Unset: those of
	// the Service, and of the cluster for a new one. Another first family deletes the Service and
	// creates it again.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +kubebuilder:validation:XValidation:rule="self.all(f, self.exists_one(g, g == f))",message="service.ipFamilies must not contain a family twice"
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`
	// internalTrafficPolicy is Cluster or Local (only pods on the client's node). Unset: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	InternalTrafficPolicy *corev1.ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty"`
	// allocateLoadBalancerNodePorts is whether the ports of a Service of type LoadBalancer are node
	// ports, too. Unset: true.
	// +optional
	AllocateLoadBalancerNodePorts *bool `json:"allocateLoadBalancerNodePorts,omitempty"`
	// trafficDistribution is a preference for near endpoints, such as PreferSameZone.
	// +optional
	// +kubebuilder:validation:Enum=PreferClose;PreferSameZone;PreferSameNode
	TrafficDistribution *string `json:"trafficDistribution,omitempty"`
}
