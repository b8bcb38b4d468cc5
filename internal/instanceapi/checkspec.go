package instanceapi

import (
	"fmt"
	"strings"
)

// FileChecks is the file of a configuration that holds Checks as JSON. It is part of the revision,
// so checks are loaded and rolled back with the configuration. Instances of releases before 0.5
// ignore it. A configuration without checks does not have the file.
const FileChecks = "nginx-operator-checks.json"

// CheckMessagePrefix is the prefix of every message about a failed check.
const CheckMessagePrefix = "spec.checks["

// ReadinessMessagePrefix is the prefix of every message about a failed request for readiness.
const ReadinessMessagePrefix = "spec.readiness"

// DeclaredByUser reports whether a message is about a request that the user declares.
func DeclaredByUser(message string) bool {
	return strings.HasPrefix(message, CheckMessagePrefix) || strings.HasPrefix(message, ReadinessMessagePrefix)
}

// Checks declares how an instance verifies that a configuration works.
type Checks struct {
	// Families are the address families of the Service, IPv4 and IPv6: nginx must listen on every declared port in each of
	// them. Empty: IPv4, if the pod has such an address.
	Families []string `json:"families,omitempty"`
	// Readiness is a request that a pod must answer to be ready; nil: none.
	Readiness *Readiness `json:"readiness,omitempty"`
	// Checks are the requests that new workers must answer as declared.
	Checks []Check `json:"checks,omitempty"`
	// IgnoreFirstAnswers disables the comparison of the first answers with those before the load.
	IgnoreFirstAnswers bool `json:"ignoreFirstAnswers,omitempty"`
}

// Check is a request to nginx from within the pod, and the expected response.
type Check struct {
	// Scheme is HTTP or HTTPS. Host is empty for the address itself.
	Scheme string `json:"scheme"`
	Host   string `json:"host,omitempty"`
	Port   int32  `json:"port"`
	// Path includes the query.
	Path string `json:"path"`
	// ProxyProtocol starts the connection with a PROXY protocol header.
	ProxyProtocol  bool  `json:"proxyProtocol,omitempty"`
	TimeoutSeconds int32 `json:"timeoutSeconds"`
	// ExpectStatus is 0 for any status from 200 to 399. ExpectBody is empty for any body.
	ExpectStatus int    `json:"expectStatus,omitempty"`
	ExpectBody   string `json:"expectBody,omitempty"`
}

// Readiness is a request that is repeated.
type Readiness struct {
	Check
	PeriodSeconds int32 `json:"periodSeconds"`
	// FailureThreshold is how many requests in a row must fail until the pod is not ready.
	FailureThreshold int32 `json:"failureThreshold"`
}

// String returns the request of the check in the form that messages use.
func (c Check) String() string {
	host, scheme := c.Host, "http"
	if host == "" {
		host = "127.0.0.1"
	}
	if c.Scheme == "HTTPS" {
		scheme = "https"
	}
	return fmt.Sprintf("GET %s://%s:%d%s", scheme, host, c.Port, c.Path)
}
