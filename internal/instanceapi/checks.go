package instanceapi

import "fmt"

// FileChecks is a file of a configuration that holds Checks as JSON. It is part of the
// revision, so checks go live and are gone back from as the configuration is. Instances of
// releases before 0.5 ignore it. A configuration without checks has no such file.
const FileChecks = "nginx-operator-checks.json"

// FailedCheck is how every message about a failed check begins.
const FailedCheck = "spec.checks["

// Checks are how an instance finds out that a configuration does its work.
type Checks struct {
	// Checks that the new workers have to pass.
	Checks []Check `json:"checks,omitempty"`
	// IgnoreFirstAnswers tells that the first answers are not compared with those before.
	IgnoreFirstAnswers bool `json:"ignoreFirstAnswers,omitempty"`
}

// Check is a request to nginx inside of the pod, and what the answer must be.
type Check struct {
	// Scheme is HTTP or HTTPS; Host is empty for the address itself.
	Scheme string `json:"scheme"`
	Host   string `json:"host,omitempty"`
	Port   int32  `json:"port"`
	// Path with the query.
	Path string `json:"path"`
	// ProxyProtocol begins the connection with a header of the PROXY protocol.
	ProxyProtocol  bool  `json:"proxyProtocol,omitempty"`
	TimeoutSeconds int32 `json:"timeoutSeconds"`
	// ExpectStatus is 0 for any from 200 to 399, ExpectBody empty for any body.
	ExpectStatus int    `json:"expectStatus,omitempty"`
	ExpectBody   string `json:"expectBody,omitempty"`
}

// String names the check as its user wrote it.
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
