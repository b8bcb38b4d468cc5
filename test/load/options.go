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

// Options say whom to ask, how, and what the answer has to be. They travel as JSON to
// the command that runs inside a cluster.
type Options struct {
	// Targets are the addresses (host:port) to ask. Each gets clients of its own.
	Targets []string `json:"targets"`
	// Host is the name asked for: the Host header, and what a certificate has to be
	// for. Empty: the target's.
	Host string `json:"host,omitempty"`
	// TLS makes every connection a TLS connection. The chain is verified against CA
	// (PEM), never skipped.
	TLS bool   `json:"tls,omitempty"`
	CA  string `json:"ca,omitempty"`
	// Clients are the kinds of clients.
	Clients []Clients `json:"clients"`
	// Rate is how many requests a second all clients make together; 0: as many as they can.
	Rate float64 `json:"rate,omitempty"`
	// Timeout bounds one request, connecting included. Default: 10 s.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Duration ends the run by itself; 0: it goes on until it is stopped.
	Duration time.Duration `json:"duration,omitempty"`
	// RevisionHeader is the header that carries the revision of an answer. Empty: only
	// the body does, where a Clients.Expect says so.
	RevisionHeader string `json:"revisionHeader,omitempty"`
	// Revisions are those submitted before the start. From the first one on, an answer
	// of any other revision is a failure; without any, revisions are only recorded.
	Revisions []string `json:"revisions,omitempty"`
}

// Clients are clients that all do the same. None of them ever tries a request again.
type Clients struct {
	// Name tells them apart in the report. Default: made of the method and the way they connect.
	Name string `json:"name,omitempty"`
	// Count is how many there are for each target. Default: 1.
	Count int `json:"count,omitempty"`
	// Method and Path of the request. Default: GET /
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// BodyBytes is the length of the request's body. The content differs between clients.
	BodyBytes int `json:"bodyBytes,omitempty"`
	// KeepAlive makes a client use its connection again until the server asks it not to;
	// otherwise each request has a connection of its own.
	KeepAlive bool `json:"keepAlive,omitempty"`
	// Think is the pause between an answer and the next request.
	Think time.Duration `json:"think,omitempty"`
	// NoticeClose makes a client look whether the server has closed an idle connection
	// before it uses it again, as good clients do. A naive client writes to it and
	// loses the request.
	NoticeClose bool `json:"noticeClose,omitempty"`
	// Status is the status expected. Default: 200.
	Status int `json:"status,omitempty"`
	// Expect is the body expected, with the placeholders {revision}, {method}, {length}
	// and {sum}: the length and the CRC-32 of the request's body. Empty: any body.
	Expect string `json:"expect,omitempty"`
}

const (
	defaultTimeout = 10 * time.Second
	// maxBody bounds what is read of an answer.
	maxBody = 1 << 20
)

// complete returns the options with every default filled in.
func (o Options) complete() (Options, error) {
	if len(o.Targets) == 0 || len(o.Clients) == 0 {
		return o, errors.New("at least one target and one kind of clients are needed")
	}
	for _, target := range o.Targets {
		if _, _, err := net.SplitHostPort(target); err != nil {
			return o, fmt.Errorf("the target %q is not of the form host:port: %w", target, err)
		}
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

// clients is how many clients there are in all.
func (o Options) clients() int {
	n := 0
	for _, kind := range o.Clients {
		n += kind.Count
	}
	return n * len(o.Targets)
}

// pace is how often one client may ask; 0: as often as it can. Clients that take their time
// to think ask less often anyway: the others make up for them.
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

// host is the name that a target is asked for.
func (o Options) host(target string) string {
	if o.Host != "" {
		return o.Host
	}
	return target
}

// tlsConfig is nil for plain connections.
func (o Options) tlsConfig() (*tls.Config, error) {
	if !o.TLS {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(o.CA)) {
		return nil, errors.New("TLS needs a CA in PEM")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// serverName is what a target's certificate has to be for.
func (o Options) serverName(target string) string {
	name := o.host(target)
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	return strings.Trim(name, "[]")
}
