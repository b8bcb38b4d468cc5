// Package site provides the application under load: configurations whose responses contain their
// revision, and clients that check it.
package site

import (
	"fmt"
	"strings"
	"time"

	"example.com/nginx-operator/test/load"
)

const (
	// Port is the application's HTTP port.
	Port = 8080
	// SecurePort is the application's HTTPS port.
	SecurePort = 8443
	// Certificate is the name in spec.tls.
	Certificate = "site"
	// Host is the name that the certificate is for.
	Host = "site.test"
	// RevisionHeader is the header with the revision of each response.
	RevisionHeader = "X-Revision"
)

// Site describes a configuration, apart from its revision.
type Site struct {
	// Backend is the address (host:port) to which requests under /echo are passed; empty: there is
	// no such location.
	Backend string
	// TLS makes it also listen on SecurePort.
	TLS bool
}

// Files returns a configuration that answers with a revision.
func (s Site) Files(revision string) map[string]string {
	var b strings.Builder
	fmt.Fprintf(&b, "server {\n    listen %d;\n", Port)
	if s.TLS {
		fmt.Fprintf(&b, "    listen %d ssl;\n    ssl_certificate /etc/nginx/tls/%s/tls.crt;\n    ssl_certificate_key /etc/nginx/tls/%s/tls.key;\n",
			SecurePort, Certificate, Certificate)
	}
	fmt.Fprintf(&b, "    add_header %s %s always;\n", RevisionHeader, revision)
	fmt.Fprintf(&b, "    location / {\n        return 200 \"revision=%s $request_method\\n\";\n    }\n", revision)
	if s.Backend != "" {
		fmt.Fprintf(&b, "    location /echo {\n        proxy_pass http://%s;\n    }\n", s.Backend)
	}
	b.WriteString("}\n")
	return map[string]string{"site.conf": b.String()}
}

// Options returns a load on targets: keepalive and new connections, GET and POST. If there is a
// backend, bodies are passed to it, and it describes what it received.
func (s Site) Options(rate float64, targets ...string) load.Options {
	const own = "revision={revision} {method}\n"
	clients := []load.Clients{
		{Count: 6, KeepAlive: true, Expect: own},
		{Count: 4, Expect: own},
		{Count: 2, Method: "POST", BodyBytes: 2000, KeepAlive: true, Expect: own},
		{Count: 2, Method: "POST", BodyBytes: 2000, Expect: own},
		// These connections are idle most of the time.
		{Name: "GET, keepalive, mostly idle", Count: 10, KeepAlive: true, Think: 500 * time.Millisecond, Expect: own},
	}
	if s.Backend != "" {
		const echo = "{method} {length} {sum}\n"
		clients = append(clients,
			load.Clients{Name: "POST to the backend, keepalive", Count: 2, Method: "POST", Path: "/echo", BodyBytes: 5000, KeepAlive: true, Expect: echo},
			load.Clients{Name: "POST to the backend, new connections", Count: 2, Method: "POST", Path: "/echo", BodyBytes: 20000, Expect: echo},
		)
	}
	return load.Options{Targets: targets, Host: Host, Clients: clients, Rate: rate, RevisionHeader: RevisionHeader}
}

// Secure changes a load to use TLS.
func Secure(o load.Options, authority string) load.Options {
	o.TLS, o.CA = true, authority
	return o
}
