package v1alpha2

import networkingv1 "k8s.io/api/networking/v1"

// Ingress declares an Ingress with the name of the application. Its backend is the
// application's Service.
type Ingress struct {
	// className is the IngressClass. Unset: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ClassName *string `json:"className,omitempty"`
	// annotations are added to the Ingress. Controllers read their options there.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('operator.example.com/'))",message="annotations of operator.example.com belong to the operator: choose other keys"
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels are added to the Ingress. The app.kubernetes.io keys that the operator sets
	// cannot be overridden.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('operator.example.com/'))",message="labels of operator.example.com belong to the operator: choose other keys"
	Labels map[string]string `json:"labels,omitempty"`
	// port is the name of a TCP port of spec.ports. Unset: the first TCP port.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Port *string `json:"port,omitempty"`
	// hosts are the host names and paths that are routed to the application.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Hosts []IngressHost `json:"hosts,omitempty"`
	// tls are the certificates with which the Ingress controller terminates TLS.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	TLS []IngressTLS `json:"tls,omitempty"`
}

// Hostname is a DNS name, or one whose first label is "*".
//
// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9.]+$')",message="must be a DNS name, not an IP address"
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
type Hostname string

// IngressHost is a host name with its paths.
type IngressHost struct {
	// host is a DNS name, or one whose first label is "*". Unset: every host.
	// +optional
	Host *Hostname `json:"host,omitempty"`
	// paths are those that are routed to the application.
	// +optional
	// +listType=atomic
	// +default=[{"path":"/","pathType":"Prefix"}]
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Paths []IngressPath `json:"paths,omitempty"`
}

// IngressPath is a path of an Ingress.
//
// +kubebuilder:validation:XValidation:rule="self.pathType == 'ImplementationSpecific' || !self.path.matches('//|/[.][.]?(/|$)|%2[fF]')",message="a path of pathType Prefix or Exact must not contain '//', '/./', '/../' or '%2f', nor end with '/.' or '/..'"
type IngressPath struct {
	// path begins with "/".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="a path must begin with '/'"
	Path string `json:"path,omitempty"`
	// pathType is Prefix, Exact or ImplementationSpecific.
	// +optional
	// +default="Prefix"
	// +kubebuilder:validation:Enum=Prefix;Exact;ImplementationSpecific
	PathType networkingv1.PathType `json:"pathType,omitempty"`
}

// IngressTLS is a certificate of an Ingress.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretName) != has(self.tlsName)",message="an entry of ingress.tls needs exactly one of secretName and tlsName"
type IngressTLS struct {
	// hosts are the names in the certificate.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Hosts []Hostname `json:"hosts,omitempty"`
	// secretName is a Secret of type kubernetes.io/tls in the same namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	SecretName *string `json:"secretName,omitempty"`
	// tlsName is the name of an entry of spec.tls, whose Secret is used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	TLSName *string `json:"tlsName,omitempty"`
}

// HTTPRoute declares an HTTPRoute of the Gateway API, named <application>-<name>. The operator
// creates no Gateway.
type HTTPRoute struct {
	// name of the route, unique within the application.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// parentRefs are the Gateways that route requests to the application, or their listeners.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(p, self.exists_one(q, q.name == p.name && q.kind == p.kind && q.group == p.group && has(q.__namespace__) == has(p.__namespace__) && (!has(p.__namespace__) || q.__namespace__ == p.__namespace__) && (!has(p.sectionName) || !has(q.sectionName) || q.sectionName == p.sectionName)))",message="parentRefs of a route name a parent twice: keep one of them, or give each another sectionName"
	ParentRefs []ParentReference `json:"parentRefs,omitempty"`
	// hostnames are the DNS names whose requests are routed to the application. Unset: those of
	// the listeners.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Hostnames []Hostname `json:"hostnames,omitempty"`
	// rules route requests by their paths. Unset: all paths are routed to the application.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Rules []HTTPRouteRule `json:"rules,omitempty"`
	// annotations are added to the HTTPRoute.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('operator.example.com/'))",message="annotations of operator.example.com belong to the operator: choose other keys"
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels are added to the HTTPRoute. The app.kubernetes.io keys that the operator sets
	// cannot be overridden.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('operator.example.com/'))",message="labels of operator.example.com belong to the operator: choose other keys"
	Labels map[string]string `json:"labels,omitempty"`
}

// ParentReference names a Gateway, or one of its listeners.
type ParentReference struct {
	// group of the parent.
	// +optional
	// +default="gateway.networking.k8s.io"
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Group *string `json:"group,omitempty"`
	// kind of the parent.
	// +optional
	// +default="Gateway"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind *string `json:"kind,omitempty"`
	// namespace of the parent. Unset: that of the application. The parent must admit routes of
	// the application's namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace *string `json:"namespace,omitempty"`
	// name of the parent.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// sectionName is the name of a listener. Unset: every listener that admits the route.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	SectionName *string `json:"sectionName,omitempty"`
	// port of the listeners. Unset: every port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
}

// HTTPRouteRule routes requests to backends.
type HTTPRouteRule struct {
	// paths are those that the rule applies to. Unset: all. An HTTPRoute can have 128 in all its
	// rules: add a rule for more than 8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Paths []HTTPPathMatch `json:"paths,omitempty"`
	// backends share the requests in proportion to their weights. Unset: the application gets all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Backends []HTTPRouteBackend `json:"backends,omitempty"`
}

// HTTPPathMatch matches the path of a request.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'RegularExpression' || self.value.startsWith('/')",message="the value of a path match of type PathPrefix or Exact must begin with '/'"
// +kubebuilder:validation:XValidation:rule="self.type == 'RegularExpression' || !self.value.matches('//|/[.][.]?(/|$)|%2[fF]')",message="the value of a path match of type PathPrefix or Exact must not contain '//', '/./', '/../' or '%2f', nor end with '/.' or '/..'"
// +kubebuilder:validation:XValidation:rule="self.type == 'RegularExpression' || self.value.matches('^([!$&-;=@-Z_a-z~]|%[0-9a-fA-F]{2})+$')",message="the value of a path match of type PathPrefix or Exact has a character that a URL cannot have: encode it, such as %20 for a space"
type HTTPPathMatch struct {
	// type is PathPrefix, Exact or RegularExpression.
	// +optional
	// +default="PathPrefix"
	// +kubebuilder:validation:Enum=PathPrefix;Exact;RegularExpression
	Type string `json:"type,omitempty"`
	// value of the path.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
}

// HTTPRouteBackend is a Service that gets a share of the requests.
//
// +kubebuilder:validation:XValidation:rule="!has(self.service) || has(self.port)",message="a backend that names a service needs its port"
type HTTPRouteBackend struct {
	// service is the name of a Service of the same namespace. Unset: the application's own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Service *string `json:"service,omitempty"`
	// port of the Service. Unset: the first TCP port of spec.ports.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// weight is the share of the requests, relative to the sum of all weights of the rule. 0: none.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Weight *int32 `json:"weight,omitempty"`
}

// CertificateDuration is a time in hours, minutes and seconds, such as 2160h or 1h30m.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^([0-9]{1,6}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$`
type CertificateDuration string

// IssuedCertificate declares a Certificate of cert-manager, named <application>-<name of the
// entry>. It fills the Secret that the entry names.
//
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || duration(self.duration) >= duration('1h')",message="certificate.duration must be at least 1h"
// +kubebuilder:validation:XValidation:rule="!has(self.renewBefore) || duration(self.renewBefore) >= duration('5m') && duration(self.renewBefore) < (has(self.duration) ? duration(self.duration) : duration('2160h'))",message="certificate.renewBefore must be at least 5m, and less than certificate.duration (default 2160h)"
type IssuedCertificate struct {
	// issuerRef is the issuer that signs the certificate.
	// +required
	IssuerRef IssuerReference `json:"issuerRef,omitzero"`
	// dnsNames are the names in the certificate.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	DNSNames []Hostname `json:"dnsNames,omitempty"`
	// duration is the requested lifetime, at least 1h. Default of cert-manager: 2160h.
	// +optional
	Duration *CertificateDuration `json:"duration,omitempty"`
	// renewBefore is how long before its end the certificate is renewed, at least 5m. Default of
	// cert-manager: a third of the lifetime.
	// +optional
	RenewBefore *CertificateDuration `json:"renewBefore,omitempty"`
	// privateKeyAlgorithm is RSA, ECDSA or Ed25519. Default of cert-manager: RSA.
	// +optional
	// +kubebuilder:validation:Enum=RSA;ECDSA;Ed25519
	PrivateKeyAlgorithm *string `json:"privateKeyAlgorithm,omitempty"`
}

// IssuerReference names an issuer of cert-manager.
type IssuerReference struct {
	// name of the issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// kind is Issuer, ClusterIssuer, or the kind of an external issuer.
	// +optional
	// +default="Issuer"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind *string `json:"kind,omitempty"`
	// group of the issuer's API.
	// +optional
	// +default="cert-manager.io"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Group *string `json:"group,omitempty"`
}
