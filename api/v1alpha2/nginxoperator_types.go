package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NginxOperator runs one nginx application: a Deployment of hardened nginx pods,
// the Service in front of it, and the configuration that the pods serve.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=nginxoperators,singular=nginxoperator,shortName=nginx,categories=all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the application is as declared and serving"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that serve now"
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.status.image`,description="The image that the pods run"
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.status.config.revision`,description="The revision of the configuration asked for"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is Ready or not"
// +kubebuilder:printcolumn:name="Desired",type=integer,priority=1,JSONPath=`.spec.replicas`,description="Pods asked for"
// +kubebuilder:printcolumn:name="Up-To-Date",type=integer,priority=1,JSONPath=`.status.updatedReplicas`,description="Pods of the newest template"
// +kubebuilder:printcolumn:name="Loaded",type=integer,priority=1,JSONPath=`.status.config.loadedReplicas`,description="Pods that serve the configuration asked for"
// +kubebuilder:printcolumn:name="Revision",type=integer,priority=1,JSONPath=`.status.revision`,description="The last revision of the history that every pod has run"
// +kubebuilder:printcolumn:name="Restarts",type=integer,priority=1,JSONPath=`.status.restarts`,description="Container restarts of the present pods"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 45",message="metadata.name must be at most 45 characters long: the names of the objects made for it (such as <name>-config) are derived from it and must stay legal"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must consist of lower case letters, digits and '-', start with a letter and end with a letter or digit: it is also the name of a Service"
type NginxOperator struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the metadata of every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the application.
	// +optional
	// +default={}
	Spec NginxOperatorSpec `json:"spec,omitempty"`
	// status is the application as it was last observed. It is written by the
	// operator only and can be rebuilt from the cluster at any time.
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

// NginxOperatorSpec declares one nginx application. Every field is optional: an
// empty spec is one pod of the operator's default image that serves the image's
// own welcome page on port 80.
//
// +kubebuilder:validation:XValidation:rule="has(self.config) || !has(self.ports) || self.ports.all(p, p.protocol == 'TCP')",message="spec.config is required when a port uses UDP: the built-in configuration serves HTTP over TCP only"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || !has(self.service.headless) || !self.service.headless || !has(self.ports) || self.ports.all(p, !has(p.targetPort) || p.targetPort == p.port)",message="with service.headless, no port can have another targetPort: clients connect to the ports of the pods"
// +kubebuilder:validation:XValidation:rule="!has(self.readiness) || !has(self.ports) || self.ports.exists(p, p.protocol == 'TCP' && (!has(self.readiness.port) || self.readiness.port == p.port))",message="readiness.port must be the number of a TCP port of spec.ports"
// +kubebuilder:validation:XValidation:rule="!has(self.checks) || !has(self.ports) || self.checks.all(c, self.ports.exists(p, p.protocol == 'TCP' && (!has(c.port) || c.port == p.port)))",message="the port of a check must be the number of a TCP port of spec.ports"
// +kubebuilder:validation:XValidation:rule="!has(self.ingress) || !has(self.ports) || self.ports.exists(p, p.protocol == 'TCP' && (!has(self.ingress.port) || p.name == self.ingress.port))",message="spec.ingress needs a TCP port of spec.ports; ingress.port must be the name of one"
// +kubebuilder:validation:XValidation:rule="!has(self.ingress) || !has(self.ingress.tls) || self.ingress.tls.all(t, !has(t.tlsName) || has(self.tls) && self.tls.exists(c, c.name == t.tlsName))",message="every ingress.tls[].tlsName must be the name of an entry of spec.tls"
// +kubebuilder:validation:XValidation:rule="!has(self.httpRoutes) || !has(self.ports) || self.httpRoutes.size() == 0 || self.ports.exists(p, p.protocol == 'TCP')",message="spec.httpRoutes needs a TCP port of spec.ports"
// +kubebuilder:validation:XValidation:rule="!has(self.httpRoutes) || !has(self.ports) || self.httpRoutes.all(r, !has(r.rules) || r.rules.all(u, !has(u.backends) || u.backends.all(b, has(b.service) || !has(b.port) || self.ports.exists(p, p.protocol == 'TCP' && p.port == b.port))))",message="the port of a backend without service must be the number of a TCP port of spec.ports"
type NginxOperatorSpec struct {
	// image is the nginx image that the pods run: any image with nginx on its PATH.
	// Unset: the operator's default image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$')",message="image must be an image reference such as registry.example.com/nginx:1.30"
	Image *string `json:"image,omitempty"`

	// imagePullSecrets name Secrets of the namespace with credentials for the registries of all
	// images of the pods. They are added to those of the operator's setting --image-pull-secrets.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []SecretReference `json:"imagePullSecrets,omitempty"`

	// replicas is the number of pods. 0 scales the application to zero. If a
	// HorizontalPodAutoscaler targets the Deployment, it decides the number.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// ports are the ports that nginx listens on and the Service offers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +default=[{"name":"http","port":80,"protocol":"TCP"}]
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(p, self.exists_one(q, q.port == p.port && q.protocol == p.protocol))",message="two ports have the same port number and protocol: each can be listed once"
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.name != 'metrics' && !(p.port == 9113 && p.protocol == 'TCP'))",message="the name metrics and port 9113/TCP belong to the instance manager in every pod: choose others"
	// +kubebuilder:validation:XValidation:rule="self.all(p, self.exists_one(q, (has(q.targetPort) ? q.targetPort : q.port) == (has(p.targetPort) ? p.targetPort : p.port) && q.protocol == p.protocol))",message="nginx would listen twice on a port: the targetPort of each port, or its port if it has none, must be unique for a protocol"
	Ports []Port `json:"ports,omitempty"`

	// forceRedeploy rolls every pod when its value changes; the value itself has no meaning. A
	// date or a ticket number documents the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ForceRedeploy *string `json:"forceRedeploy,omitempty"`

	// config is the nginx configuration. Unset: a built-in one that serves the files
	// of /usr/share/nginx/html on every port.
	// +optional
	Config *Config `json:"config,omitempty"`

	// readiness is a request that a pod must answer to receive requests. Unlike checks, it does not
	// decide whether a configuration is rolled back.
	// +optional
	Readiness *Readiness `json:"readiness,omitempty"`

	// checks are requests that nginx must answer as declared. A pod that loads a configuration
	// sends them to its new worker processes: unless all of them pass, the pod rolls the
	// configuration back and no other pod loads it. A pod is ready only while they pass. A
	// check that needs a backend takes every pod out of the Service when the backend fails.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Checks []Check `json:"checks,omitempty"`

	// content are read-only folders of static files, mounted into every nginx container.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=16
	Content []Content `json:"content,omitempty"`

	// tls are the certificates that the configuration uses. nginx finds each as
	// /etc/nginx/tls/<name>/tls.crt and tls.key. A new pair goes live without a restart;
	// while it is missing or does not match, the last good one stays.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.certificate) || self.exists_one(u, u.secretName == t.secretName))",message="another entry of spec.tls has the secretName of one with certificate: cert-manager fills a Secret for one Certificate only"
	TLS []Certificate `json:"tls,omitempty"`

	// service configures the Service in front of the pods.
	// +optional
	Service *Service `json:"service,omitempty"`

	// ingress declares an Ingress that routes requests from outside the cluster to the Service.
	// +optional
	Ingress *Ingress `json:"ingress,omitempty"`

	// httpRoutes declare HTTPRoutes that attach the Service to Gateways of the Gateway API. They
	// are created when the cluster has the Gateway API.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	HTTPRoutes []HTTPRoute `json:"httpRoutes,omitempty"`

	// serviceAccount is the ServiceAccount of the pods. Unset: <name>-nginx, which the operator
	// creates. No pod gets its token.
	// +optional
	ServiceAccount *ServiceAccount `json:"serviceAccount,omitempty"`

	// disruption bounds how many pods node drains and other evictions take away at a time.
	// +optional
	Disruption *Disruption `json:"disruption,omitempty"`

	// networkPolicy limits who may connect to the pods. Unset: the operator creates no
	// NetworkPolicy.
	// +optional
	NetworkPolicy *NetworkPolicy `json:"networkPolicy,omitempty"`

	// resources are the compute resources of the nginx container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// podTemplate adds to the pods. It is merged under the operator's own template:
	// it can add to the pods' hardening, never weaken it.
	// +optional
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`

	// rollout tunes how a change is rolled out, and what happens when it fails.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// drain tunes how a pod stops without failing a request.
	// +optional
	Drain *Drain `json:"drain,omitempty"`

	// metrics tunes what the pods measure.
	// +optional
	Metrics *Metrics `json:"metrics,omitempty"`

	// suspend makes the operator observe and report only: it changes nothing until
	// suspend is false again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}

// Port is one port of the application.
type Port struct {
	// name of the port, unique within the application. It names the container's and
	// the Service's port alike.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self.matches('[a-z]') && !self.contains('--')",message="a port name needs at least one letter and no two '-' in a row"
	Name string `json:"name,omitempty"`
	// port is the number that the Service offers and, without targetPort, nginx listens on.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// targetPort is the number that nginx listens on, if it is not that of the Service. Unset: port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self != 9113",message="port 9113 belongs to the instance manager in every pod: choose another targetPort"
	TargetPort *int32 `json:"targetPort,omitempty"`
	// protocol is TCP or UDP.
	// +optional
	// +default="TCP"
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol corev1.Protocol `json:"protocol,omitempty"`
	// nodePort is the port on every node, for a Service of type NodePort or
	// LoadBalancer. Unset: chosen by Kubernetes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	NodePort *int32 `json:"nodePort,omitempty"`
}

// Drain tunes how a pod stops. A pod keeps serving for delaySeconds, while it is removed from
// the endpoints; then nginx accepts no more connections and has timeoutSeconds to finish the
// accepted requests. The pod's terminationGracePeriodSeconds follows from both.
type Drain struct {
	// delaySeconds is how many seconds a pod keeps serving after it was asked to stop. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=600
	DelaySeconds *int32 `json:"delaySeconds,omitempty"`
	// timeoutSeconds is how many seconds open requests have to end, when a pod stops
	// and after each change of the configuration. Default: 30.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// Metrics tunes what the pods measure and serve under /metrics on port 9113.
type Metrics struct {
	// requests counts and times requests by server, method and status class, from an
	// access log that nginx sends to the instance manager of its pod. Default: true.
	// +optional
	Requests *bool `json:"requests,omitempty"`
}

// NginxOperatorStatus is what the operator observed.
type NginxOperatorStatus struct {
	// conditions are the state of the application. Wait for Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
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
	// config says which configuration is requested and how many pods serve it.
	// +optional
	Config *ConfigStatus `json:"config,omitempty"`
	// certificates are those of spec.tls as the pods use them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Certificates []CertificateStatus `json:"certificates,omitempty"`
	// addresses are where clients reach the application: the addresses of the Service's load
	// balancer, or its DNS name inside the cluster if its type is not LoadBalancer; those of the
	// Ingress; and the hostnames of the HTTPRoutes that their Gateways have accepted. While a load
	// balancer has no address, there is none of it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Addresses []Address `json:"addresses,omitempty"`
	// waitingRollout is a rollout that has not started, because gates of rollout.gates are
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
	Type AddressType `json:"type,omitempty"`
	// value is the IP address or the DNS name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Value string `json:"value,omitempty"`
}

// ConfigStatus is the progress of a configuration.
type ConfigStatus struct {
	// revision is the content hash of the requested configuration.
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
	// revision identifies the rollout: the pods, the configuration, and how they are rolled
	// out. It is the value of the annotation that opens a gate.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision"`
	// gates are the names of the closed gates.
	// +required
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	Gates []string `json:"gates,omitempty"`
	// since is when this revision started to wait.
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
