package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/v1alpha2"
)

// NginxOperator runs one nginx application. Newer fields are in v1alpha2; reading
// or writing an object through v1alpha1 loses none of them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:deprecatedversion:warning="operator.example.com/v1alpha1 NginxOperator is deprecated: use operator.example.com/v1alpha2, which has every field of it (spec.port is spec.ports[0].port there)"
// +kubebuilder:resource:path=nginxoperators,singular=nginxoperator,shortName=nginx,categories=all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the application is as declared and serving"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that serve now"
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.spec.port`,description="The port that nginx listens on"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 45",message="metadata.name must be at most 45 characters long: the names of the objects made for it (such as <name>-config) are derived from it and must stay legal"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must consist of lower case letters, digits and '-', start with a letter and end with a letter or digit: it is also the name of a Service"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.spec) && has(oldSelf.spec.port)",message="spec.port is missing from the stored object: the CustomResourceDefinition has no conversion webhook, so a write as v1alpha1 would drop every field that v1alpha1 does not have. Write the object as operator.example.com/v1alpha2, or install the operator again"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec) || !has(oldSelf.spec.v1alpha2Spec) || has(self.spec) && has(self.spec.v1alpha2Spec)",message="spec.v1alpha2Spec is missing: it has the fields that v1alpha1 does not have, and this write would drop them. Change single fields with a patch, or write the object as operator.example.com/v1alpha2"
type NginxOperator struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the metadata of every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the application.
	// +optional
	// +default={}
	Spec NginxOperatorSpec `json:"spec,omitempty"`
	// status is the application as it was last observed.
	// +optional
	Status v1alpha2.NginxOperatorStatus `json:"status,omitempty"`
}

// NginxOperatorList is a list of NginxOperators.
//
// +kubebuilder:object:root=true
type NginxOperatorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NginxOperator `json:"items"`
}

// NginxOperatorSpec declares one nginx application.
type NginxOperatorSpec struct {
	// port is the port that nginx listens on and the Service offers: the first of
	// v1alpha2's ports.
	// +optional
	// +default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self != 9113",message="port 9113 belongs to the instance manager in every pod: choose another"
	Port *int32 `json:"port,omitempty"`

	// replicas is the number of pods. 0 scales the application to zero.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// forceRedeploy rolls every pod when its value changes; the value itself has no meaning.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ForceRedeploy *string `json:"forceRedeploy,omitempty"`

	// v1alpha2Spec is the whole spec as v1alpha2, if it is too long for the annotation
	// operator.example.com/v1alpha2-spec. Do not set it: write the object as v1alpha2.
	// +optional
	// +structType=atomic
	// +kubebuilder:pruning:PreserveUnknownFields
	V1Alpha2Spec *runtime.RawExtension `json:"v1alpha2Spec,omitempty"`
}
