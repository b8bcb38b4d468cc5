package v1alpha2

// Check is a request to nginx, from 127.0.0.1 inside of the pod, or from ::1 if nginx listens on
// IPv6 only, and the expected response. Redirects are not followed.
type Check struct {
	// path and query of the request. Default: /.
	// +optional
	// +default="/"
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^\s#]*$`
	Path string `json:"path,omitempty"`
	// host is the requested name: the Host header and, with HTTPS, the server name of the
	// handshake. Unset: the address.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_]([-a-zA-Z0-9_.]*[a-zA-Z0-9_])?$`
	Host *string `json:"host,omitempty"`
	// port is the number of a TCP port of spec.ports. Unset: the first one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// scheme is HTTP or HTTPS. The certificate is not verified. Default: HTTP.
	// +optional
	// +default="HTTP"
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	Scheme string `json:"scheme,omitempty"`
	// proxyProtocol starts the connection with a PROXY protocol header, for a
	// server that listens with proxy_protocol.
	// +optional
	ProxyProtocol *bool `json:"proxyProtocol,omitempty"`
	// timeoutSeconds is how long a response may take, in seconds. A pod that loads a
	// configuration waits that long before it rolls it back. Default: 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// expectStatus is the required status of the response. Unset: any from 200 to 399.
	// +optional
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	ExpectStatus *int32 `json:"expectStatus,omitempty"`
	// expectBody is a text that the first 64 KiB of the response must contain. Unset: any.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ExpectBody *string `json:"expectBody,omitempty"`
}

// Readiness is a request to nginx, from 127.0.0.1 inside of the pod, or from ::1 if nginx listens on
// IPv6 only. A pod is ready while the status of the response is from 200 to 399. Redirects are not followed. A path that needs a backend takes
// every pod out of the Service when the backend fails.
type Readiness struct {
	// path and query of the request.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^\s#]*$`
	Path string `json:"path,omitempty"`
	// port is the number of a TCP port of spec.ports. Unset: the first one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// host is the requested name: the Host header and, with HTTPS, the server name of the
	// handshake. Unset: the address.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_]([-a-zA-Z0-9_.]*[a-zA-Z0-9_])?$`
	Host *string `json:"host,omitempty"`
	// scheme is HTTP or HTTPS. The certificate is not verified. Default: HTTP.
	// +optional
	// +default="HTTP"
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	Scheme string `json:"scheme,omitempty"`
	// periodSeconds is the time between two requests, in seconds. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`
	// timeoutSeconds is how long a response may take, in seconds. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// failureThreshold is how many requests in a row must fail until the pod is not ready. Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}
