package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// NginxCacheStatus is what the operator observed.
type NginxCacheStatus struct {
	// conditions are the state of the cache. Wait for Ready. Degraded says what is lost or away.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// edge is the state of the edges.
	// +optional
	Edge *TierStatus `json:"edge,omitempty"`
	// shards is the state of the shards.
	// +optional
	Shards *TierStatus `json:"shards,omitempty"`
	// addresses are where clients reach the cache: the addresses of its load balancer, or the DNS
	// name inside the cluster if the type of its Service is not LoadBalancer. Empty while a load
	// balancer has no address.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Addresses []v1alpha2.Address `json:"addresses,omitempty"`
}

// TierStatus is the state of the pods of a tier.
type TierStatus struct {
	// conditions are those of the tier, like those of an NginxOperator.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// replicas is the number of pods that exist.
	// +optional
	Replicas int32 `json:"replicas"`
	// readyReplicas is the number of pods that serve.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// updatedReplicas is the number of pods of the newest template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// restarts is how often containers of the present pods were restarted.
	// +optional
	Restarts int32 `json:"restarts"`
	// image is the image that the pods run.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// nginxVersion is the version of nginx as the pods report it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	NginxVersion string `json:"nginxVersion,omitempty"`
	// revision is the last one of the tier's history that every pod has run and served: the number of
	// a ControllerRevision.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// config says which configuration is requested and how many pods serve it.
	// +optional
	Config *v1alpha2.ConfigStatus `json:"config,omitempty"`
	// waitingRollout is a rollout of the tier that has not started, because gates of rollout.gates are
	// closed. Unset: none waits.
	// +optional
	WaitingRollout *v1alpha2.WaitingRollout `json:"waitingRollout,omitempty"`
	// certificates are those of spec.tls as the edges use them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Certificates []v1alpha2.CertificateStatus `json:"certificates,omitempty"`
	// pods are the pods of the tier, in the order of their ordinals.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Pods []PodStatus `json:"pods,omitempty"`
}

// PodStatus is the state of a pod.
type PodStatus struct {
	// name of the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// ready reports whether the pod serves.
	// +required
	Ready bool `json:"ready"`
	// node that the pod runs on.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
	// configRevision is the configuration that the pod serves.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ConfigRevision string `json:"configRevision,omitempty"`
	// storage is the size of the volume of a shard.
	// +optional
	Storage *resource.Quantity `json:"storage,omitempty"`
}
