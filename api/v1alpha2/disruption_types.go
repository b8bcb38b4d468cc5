package v1alpha2

import "k8s.io/apimachinery/pkg/util/intstr"

// Disruption configures the PodDisruptionBudget of the application. There is none with fewer than
// two replicas, where it would block node drains.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minAvailable) && has(self.maxUnavailable))",message="set at most one of disruption.minAvailable and disruption.maxUnavailable"
type Disruption struct {
	// minAvailable is how many pods must be ready after an eviction, as a number or a percentage of
	// the replicas (rounded up). 100%, or a number that is not below the replicas, blocks node drains.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.size() <= 4 && self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number from 0 to 1000 or a percentage from 0% to 100%"
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// maxUnavailable is how many pods may be away after an eviction, as a number or a percentage of
	// the replicas (rounded up). 0 blocks node drains. Default: 10%, so 1 of up to 10 pods.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.size() <= 4 && self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number from 0 to 1000 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}
