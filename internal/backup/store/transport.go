package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	// The image has no certificate authorities of its own.
	_ "golang.org/x/crypto/x509roots/fallback"
)

// How long the steps to a connection may take. Every client tries about three times.
const (
	dialTimeout = 10 * time.Second
	// metadataTimeout is for a cloud's own service on the node, which answers at once or is
	// not there.
	metadataTimeout   = 2 * time.Second
	handshakeTimeout  = 10 * time.Second
	continueTimeout   = time.Second
	connectionTimeout = 30 * time.Second
	mostConnections   = 8
)

// transport carries the requests of all clients, so that one set of certificate authorities
// and one notion of idleness hold for all of them, for tokens as well as for objects.
type transport struct {
	roots *x509.CertPool
	idle  time.Duration
	next  http.RoundTripper
}

func newTransport(o Options) (*transport, error) {
	roots, err := roots(filepath.Join(o.CredentialsDir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	t := &transport{roots: roots, idle: o.IdleTimeout}
	next := &http.Transport{}
	t.configure(next)
	t.next = next
	return t, nil
}

func (t *transport) configure(h *http.Transport) {
	h.Proxy = http.ProxyFromEnvironment
	h.DialContext = dialer(t.idle)
	h.TLSClientConfig = &tls.Config{RootCAs: t.roots, MinVersion: tls.VersionTLS12}
	h.TLSHandshakeTimeout = handshakeTimeout
	h.ExpectContinueTimeout = continueTimeout
	h.IdleConnTimeout = connectionTimeout
	h.MaxIdleConnsPerHost = mostConnections
	// With HTTP/2 a connection reads ahead for all of its streams, so that one could not tell
	// a store that stands still from one whose reader does.
	h.ForceAttemptHTTP2 = false
	h.Protocols = new(http.Protocols)
	h.Protocols.SetHTTP1(true)
}

// roots are the well-known certificate authorities and those of a file.
func roots(path string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the well-known certificate authorities: %w", err)
	}
	pem, err := optional(path)
	if err != nil || pem == nil {
		return pool, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("ca.crt has no certificate in PEM")
	}
	return pool, nil
}

func dialer(idle time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTimeout}
		if host, _, err := net.SplitHostPort(address); err == nil && (net.ParseIP(host).IsLinkLocalUnicast() || host == "metadata.google.internal") {
			d.Timeout = metadataTimeout
		}
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newMoving(c, idle), nil
	}
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return send(r, t.next.RoundTrip)
}

// send looks at a request of an operation that is followed.
func send(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	f := followed(r.Context())
	if f == nil {
		return next(r)
	}
	response, err := next(f.begin(r))
	f.saw(r, response, err)
	return response, err
}

// client is one that follows redirects, unless they would take credentials along.
func (t *transport) client(redirects bool) *http.Client {
	c := &http.Client{Transport: t}
	if !redirects {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return c
}
