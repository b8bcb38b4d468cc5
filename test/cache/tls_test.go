//go:build instance

package cache

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/load"
)

// issue creates the certificates of a cache, each for its first host or for other.example.com.
func (s *tiers) issue(t *testing.T, certificates []v1alpha1.Certificate) {
	t.Helper()
	authority, err := load.NewAuthority()
	must(t, err)
	s.authority = authority
	for _, c := range certificates {
		host := cmp.Or(strings.Join(c.Hosts[:min(len(c.Hosts), 1)], ""), "other.example.com")
		s.pairs[c.Name], err = authority.Issue(host, time.Hour)
		must(t, err)
	}
}

// getTLS returns the answer for a path on a host, from a client that trusts the authority, and the protocol.
func (s *tiers) getTLS(t *testing.T, host, path string) (answer, string) {
	t.Helper()
	return s.sendTLS(t, host, path, nil)
}

// sendTLS does the same with a body, whose length the client does not say.
func (s *tiers) sendTLS(t *testing.T, host, path string, body io.Reader) (answer, string) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(s.authority.PEM()))
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", s.tls)
		}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+path, body)
	must(t, err)
	response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }() // It was read.
	got, err := io.ReadAll(response.Body)
	must(t, err)
	return answer{response.StatusCode, response.Header, string(got)}, response.Proto
}

// TestTLS: an edge serves https with the certificate of the host, stores what it serves apart from http, and a purge removes
// both.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.TLS = []v1alpha1.Certificate{
			{Name: "shop", Hosts: []string{"shop.example.com"}}, {Name: "img", Hosts: []string{"*.img.example.com"}}, {Name: "others"},
		}
	})
	hosts := []string{"shop.example.com", "a.img.example.com", "other.example.com"}
	var before []string
	for _, host := range hosts {
		first, protocol := s.getTLS(t, host, "/a")
		second, _ := s.getTLS(t, host, "/a")
		if first.status != http.StatusOK || second.body != first.body || protocol != "HTTP/2.0" {
			t.Errorf("%s: %d %q, then %q, by %s", host, first.status, first.body, second.body, protocol)
		}
		before = append(before, first.body)
	}
	if plain := s.get(t, "/a"); slices.Contains(before, plain.body) {
		t.Error("http and https have the same answer")
	}
	for _, r := range s.origin.received("/a")[:3] {
		if got := r.Header.Get("X-Forwarded-Proto"); got != "https" {
			t.Errorf("the origin received the scheme %q", got)
		}
	}
	s.purge(t, instanceapi.Target{Host: hosts[0], Path: "/a"})
	if got, _ := s.getTLS(t, hosts[0], "/a"); got.body == before[0] {
		t.Error("it is there after it was purged")
	}
	if got, _ := s.getTLS(t, hosts[1], "/a"); got.body != before[1] {
		t.Error("the object of another host was purged")
	}
}
