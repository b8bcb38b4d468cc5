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

	// The image contains no certificate authorities.
	_ "golang.org/x/crypto/x509roots/fallback"
)

// Timeouts of the steps of a connection. Every client makes about three attempts.
const (
	dialTimeout = 10 * time.Second
	// metadataTimeout is for a cloud's metadata service on the node, which either responds at once
	// or does not exist.
	metadataTimeout   = 2 * time.Second
	handshakeTimeout  = 10 * time.Second
	continueTimeout   = time.Second
	connectionTimeout = 30 * time.Second
	mostConnections   = 8
)

// transport is shared by all clients, so that the same certificate authorities and the same idle
// timeout apply to requests for tokens and for objects.
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
	// An HTTP/2 connection reads ahead for all of its streams. A stalled store could not be
	// distinguished from a stalled reader.
	h.ForceAttemptHTTP2 = false
	h.Protocols = new(http.Protocols)
	h.Protocols.SetHTTP1(true)
}

// roots returns the well-known certificate authorities and those of a file.
func roots(path string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificate authorities: %w", err)
	}
	pem, err := optional(path)
	if err != nil || pem == nil {
		return pool, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("ca.crt contains no certificate in PEM format")
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

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return send(r, t.next.RoundTrip)
}

// send sends a request, and records it if its operation is followed.
func send(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	f := followed(r.Context())
	if f == nil {
		return next(r)
	}
	response, err := next(f.begin(r))
	f.record(r, response, err)
	return response, err
}

// client returns a client that follows redirects only if redirects is set. Credentials must not be
// sent along with a redirect.
func (t *transport) client(redirects bool) *http.Client {
	c := &http.Client{Transport: t}
	if !redirects {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return c
}
