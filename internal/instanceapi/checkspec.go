package instanceapi

import "fmt"

// FileChecks is the file of a configuration that holds Checks as JSON. It is part of the revision,
// so checks are loaded and rolled back with the configuration. Instances of releases before 0.5
// ignore it. A configuration without checks does not have the file.
const FileChecks = "nginx-operator-checks.json"

// CheckMessagePrefix is the prefix of every message about a failed check.
const CheckMessagePrefix = "spec.checks["

// Checks declares how an instance verifies that a configuration works.
type Checks struct {
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
