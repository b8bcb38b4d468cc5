package load

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Options describe the targets, the requests, and the expected responses. They are passed as JSON
// to the command that runs in a cluster.
type Options struct {
	// Targets are the addresses (host:port) that get requests. Each target has its own clients.
	Targets []string `json:"targets"`
	// Host is the requested name, for the Host header and for the certificate. Empty: the target's.
	Host string `json:"host,omitempty"`
	// TLS makes all connections use TLS. The chain is always verified against CA (PEM).
	TLS bool   `json:"tls,omitempty"`
	CA  string `json:"ca,omitempty"`
	// Clients are the kinds of clients.
	Clients []Clients `json:"clients"`
	// Rate is the number of requests per second of all clients together; 0: as many as possible.
	Rate float64 `json:"rate,omitempty"`
	// Objects makes each request choose an object. Unset: all requests of a client are equal.
	Objects *Objects `json:"objects,omitempty"`
	// Timeline records the requests of each second in the report.
	Timeline bool `json:"timeline,omitempty"`
	// Timeout bounds one request, including the connection. Default: 10 s.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Duration ends the run after a time; 0: it runs until it is stopped.
	Duration time.Duration `json:"duration,omitempty"`
	// RevisionHeader is the response header with the revision. Empty: only the body has it, if
	// Clients.Expect says so.
	RevisionHeader string `json:"revisionHeader,omitempty"`
	// Revisions are the revisions that were submitted before the start. As soon as one was
	// submitted, a response with any other revision is a failure. Without any, revisions are only
	// recorded.
	Revisions []string `json:"revisions,omitempty"`
}

// Clients is one kind of clients. They never retry a request.
type Clients struct {
	// Name identifies them in the report. Default: derived from the method and from how they
	// connect.
	Name string `json:"name,omitempty"`
	// Count is their number for each target. Default: 1.
	Count int `json:"count,omitempty"`
	// Method and Path are those of the request, with the number of the object for {object} in the path. Default: GET /
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// BodyBytes is the length of the request's body. The content differs between clients.
	BodyBytes int `json:"bodyBytes,omitempty"`
	// KeepAlive makes a client reuse its connection until the server asks it to close. Otherwise
	// each request uses a new connection.
	KeepAlive bool `json:"keepAlive,omitempty"`
	// Requests is the number of requests after which a client ends; 0: it sends them until the run ends.
	Requests int `json:"requests,omitempty"`
	// Think is the pause between a response and the next request.
	Think time.Duration `json:"think,omitempty"`
	// NoticeClose makes a client check whether the server has closed an idle connection before it
	// reuses it, as good clients do. A naive client writes to it and loses the request.
	NoticeClose bool `json:"noticeClose,omitempty"`
	// Status is the expected status. Default: 200.
	Status int `json:"status,omitempty"`
	// Expect is the expected body, with the placeholders {revision}, {method}, {length} and {sum}.
	// The latter two are the length and the CRC-32 of the request's body. {object} is the number of the
	// object. Empty: any body.
	Expect string `json:"expect,omitempty"`
	// ExpectSum is the expected CRC-32 of the response's body, in hexadecimal digits, for bodies of any
	// length. Empty: any.
	ExpectSum string `json:"expectSum,omitempty"`
}

const (
	defaultTimeout = 10 * time.Second
	// maxBody bounds the part of a response's body that is read, unless its sum is expected.
	maxBody = 1 << 20
)

// complete returns the options with all defaults.
func (o Options) complete() (Options, error) {
	if len(o.Targets) == 0 || len(o.Clients) == 0 {
		return o, errors.New("at least one target and one kind of client are required")
	}
	for _, target := range o.Targets {
		if _, _, err := net.SplitHostPort(target); err != nil {
			return o, fmt.Errorf("the target %q is not of the form host:port: %w", target, err)
		}
	}
	if o.Objects != nil && o.Objects.Count < 1 {
		return o, errors.New("the number of objects must be at least 1")
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	kinds := make([]Clients, 0, len(o.Clients))
	for _, kind := range o.Clients {
		kinds = append(kinds, kind.complete())
	}
	o.Clients = kinds
	return o, nil
}

func (k Clients) complete() Clients {
	if k.Method == "" {
		k.Method = http.MethodGet
	}
	if k.Path == "" {
		k.Path = "/"
	}
	if k.Count == 0 {
		k.Count = 1
	}
	if k.Status == 0 {
		k.Status = http.StatusOK
	}
	if k.Name == "" {
		connection := "new connections"
		if k.KeepAlive {
			connection = "keepalive"
		}
		k.Name = k.Method + ", " + connection
	}
	return k
}

// clients returns the total number of clients.
func (o Options) clients() int {
	n := 0
	for _, kind := range o.Clients {
		n += kind.Count
	}
	return n * len(o.Targets)
}

// pace returns the minimum interval between the requests of one client; 0: none. Clients with a
// think time are slower than that, so the others make up for them.
func (o Options) pace() time.Duration {
	if o.Rate <= 0 {
		return 0
	}
	hasty, rest := 0, o.Rate
	for _, kind := range o.Clients {
		n := kind.Count * len(o.Targets)
		if kind.Think > 0 {
			rest -= float64(n) / kind.Think.Seconds()
			continue
		}
		hasty += n
	}
	if hasty == 0 || rest <= 0 {
		return time.Duration(float64(o.clients()) / o.Rate * float64(time.Second))
	}
	return time.Duration(float64(hasty) / rest * float64(time.Second))
}

// host returns the name to request from a target.
func (o Options) host(target string) string {
	if o.Host != "" {
		return o.Host
	}
	return target
}

// tlsConfig returns nil for plain connections.
func (o Options) tlsConfig() (*tls.Config, error) {
	if !o.TLS {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(o.CA)) {
		return nil, errors.New("TLS requires a CA in PEM format")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// serverName returns the name that a target's certificate must be for.
func (o Options) serverName(target string) string {
	name := o.host(target)
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	return strings.Trim(name, "[]")
}
