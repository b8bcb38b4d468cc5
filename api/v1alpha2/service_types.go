package v1alpha2

import corev1 "k8s.io/api/core/v1"

// Service configures the Service in front of the pods. Its name is the application's.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || self.type == 'LoadBalancer'",message="service.loadBalancerClass needs service.type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerSourceRanges) || self.type == 'LoadBalancer'",message="service.loadBalancerSourceRanges needs service.type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || self.type != 'ClusterIP'",message="service.externalTrafficPolicy needs service.type NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.loadBalancerClass) && self.type == 'LoadBalancer' && oldSelf.type == 'LoadBalancer') || (has(self.loadBalancerClass) && self.loadBalancerClass == oldSelf.loadBalancerClass)",message="service.loadBalancerClass cannot be changed while the type is LoadBalancer: change the type first"
type Service struct {
	// type is how the Service is published.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
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
	// trafficDistribution is a preference for near endpoints, such as PreferSameZone.
	// +optional
	// +kubebuilder:validation:Enum=PreferClose;PreferSameZone;PreferSameNode
	TrafficDistribution *string `json:"trafficDistribution,omitempty"`
}
