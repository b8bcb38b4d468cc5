package v1alpha2

// ServiceAccount is the identity of the pods for cloud providers and admission policies.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.name) && has(self.annotations))",message="set at most one of serviceAccount.name and serviceAccount.annotations: the operator does not change a ServiceAccount that it did not create"
type ServiceAccount struct {
	// name of an existing ServiceAccount of the namespace. The operator never changes it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name *string `json:"name,omitempty"`
	// annotations are added to the ServiceAccount that the operator creates, for example to bind it
	// to an identity of the cloud provider.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}
