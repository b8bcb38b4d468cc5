// Package site has the application that the load is put on: configurations that tell
// their revision in every answer, and clients that check it.
package site

import (
	"fmt"
	"strings"
	"time"

	"example.com/nginx-operator/test/load"
)

const (
	// Port is what the application declares for HTTP.
	Port = 8080
	// SecurePort is what it declares for HTTPS.
	SecurePort = 8443
	// Certificate is the name in spec.tls.
	Certificate = "site"
	// Host is what the certificate is for.
	Host = "site.test"
	// RevisionHeader carries the revision of every answer.
	RevisionHeader = "X-Revision"
)

// Site says what a configuration has beside the revision.
type Site struct {
	// Backend is the address (host:port) that requests under /echo are passed to;
	// empty: there is no such location.
	Backend string
	// TLS makes it listen on SecurePort, too.
	TLS bool
}

// Files are a configuration that answers with a revision.
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

// Options are a load on targets: keepalive and new connections, GET and POST. Bodies are
// passed to the backend, if there is one, which tells what has arrived.
func (s Site) Options(rate float64, targets ...string) load.Options {
	const own = "revision={revision} {method}\n"
	clients := []load.Clients{
		{Count: 6, KeepAlive: true, Expect: own},
		{Count: 4, Expect: own},
		{Count: 2, Method: "POST", BodyBytes: 2000, KeepAlive: true, Expect: own},
		{Count: 2, Method: "POST", BodyBytes: 2000, Expect: own},
		// Connections that are idle for most of the time.
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

// Secure turns a load into one over TLS.
func Secure(o load.Options, authority string) load.Options {
	o.TLS, o.CA = true, authority
	return o
}
