package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
type NginxOperator struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the application as it should be.
	// +optional
	// +kubebuilder:default={}
	Spec NginxOperatorSpec `json:"spec,omitempty"`
	// status is the application as it was last observed.
	// +optional
	Status NginxOperatorStatus `json:"status,omitempty"`
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
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self != 9113",message="port 9113 belongs to the instance manager in every pod: choose another"
	Port *int32 `json:"port,omitempty"`

	// replicas is the number of pods. 0 scales the application to zero.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// forceRedeploy rolls every pod when its value changes; the value itself means
	// nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ForceRedeploy *string `json:"forceRedeploy,omitempty"`
}

// NginxOperatorStatus is what the operator observed.
type NginxOperatorStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions tell the state of the application. Wait for Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
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
	// selector finds the pods; the scale subresource needs it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Selector string `json:"selector,omitempty"`
	// image is the image that the pods run.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// nginxVersion is the version of nginx as the pods report it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	NginxVersion string `json:"nginxVersion,omitempty"`
	// revision is the last one of the history that every pod has run and served: the number
	// of a ControllerRevision.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// config tells which configuration is asked for and how many pods serve it.
	// +optional
	Config *ConfigStatus `json:"config,omitempty"`
	// certificates are those of spec.tls as the pods use them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Certificates []CertificateStatus `json:"certificates,omitempty"`
	// addresses are where clients reach the Service: what its load balancer has been given, or
	// the DNS name inside the cluster where its type is not LoadBalancer. Empty while a load
	// balancer has no address.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Addresses []Address `json:"addresses,omitempty"`
	// waitingRollout is a rollout that has not begun yet, because gates of rollout.gates are
	// closed. Unset: none waits.
	// +optional
	WaitingRollout *WaitingRollout `json:"waitingRollout,omitempty"`
}

// AddressType is the kind of an address.
// +kubebuilder:validation:Enum=IPAddress;Hostname
type AddressType string

// Types of addresses, as the Gateway API names them.
const (
	IPAddressType AddressType = "IPAddress"
	HostnameType  AddressType = "Hostname"
)

// Address is where clients reach the application.
type Address struct {
	// type is IPAddress or Hostname.
	// +required
	Type AddressType `json:"type"`
	// value is the IP address or the DNS name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Value string `json:"value"`
}

// ConfigStatus tells how far a configuration has come.
type ConfigStatus struct {
	// revision is the content hash of the configuration asked for.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
	// stableRevision is the configuration that pods start with: the last one that every
	// pod has served.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	StableRevision string `json:"stableRevision,omitempty"`
	// testedReplicas is the number of pods whose nginx accepted this revision.
	// +optional
	TestedReplicas int32 `json:"testedReplicas"`
	// loadedReplicas is the number of ready pods that serve this revision.
	// +optional
	LoadedReplicas int32 `json:"loadedReplicas"`
}

// WaitingRollout is a rollout that waits for its gates.
type WaitingRollout struct {
	// revision identifies what is to be rolled out: the pods, the configuration, and how. It
	// is what the annotation has to say that opens a gate.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision"`
	// gates are the names of those that are closed.
	// +required
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	Gates []string `json:"gates"`
	// since is when this revision came to wait.
	// +required
	Since metav1.Time `json:"since"`
}

// CertificateStatus is a certificate as the pods use it.
type CertificateStatus struct {
	// name in spec.tls.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// serialNumber of the certificate that is served, in hexadecimal digits.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SerialNumber string `json:"serialNumber,omitempty"`
	// notAfter is when the certificate that is served expires.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
}
