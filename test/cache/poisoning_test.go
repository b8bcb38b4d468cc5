//go:build instance

package cache

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

// sendBody sends a request with a body to the edge, with its length or in chunks.
func (s *tiers) sendBody(t *testing.T, method, path, body string, chunked bool) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.edge+path, strings.NewReader(body))
	must(t, err)
	if chunked {
		request.ContentLength = -1
	}
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	must(t, response.Body.Close())
	return answer{status: response.StatusCode, header: response.Header}
}

// TestBodies: the body of a request is not part of the key, so no other client gets an answer to it.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) { spec.TLS = []v1alpha1.Certificate{{Name: "all"}} })
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, chunked := range []bool{false, true} {
			path := "/" + method + "/" + strconv.FormatBool(chunked)
			s.sendBody(t, method, path, "evil", chunked)
			if got := s.get(t, path); strings.Contains(got.body, "evil") {
				t.Errorf("%s: a client gets %q (%s)", path, got.body, got.header.Get("Cache-Status"))
			}
			if received := s.origin.received(path); len(received) != 2 || received[0].Method != method || received[0].ContentLength == 0 {
				t.Errorf("%s: the origin received %d requests, the first one without its body", path, len(received))
			}
		}
	}
	// No header says that there is a body.
	s.sendTLS(t, "other.example.com", "/tls", strings.NewReader("evil"))
	if got, _ := s.getTLS(t, "other.example.com", "/tls"); strings.Contains(got.body, "evil") {
		t.Errorf("by HTTP/2, a client gets %q (%s)", got.body, got.header.Get("Cache-Status"))
	}
}

// TestUnkeyedHeaders: headers that common servers take for the URL, the scheme or the method of a request are not passed on as
// clients send them.
func TestUnkeyedHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var headers []string
	for _, name := range []string{
		"Forwarded", "Front-End-Https", "Proxy", "X-Forwarded-Context", "X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Path",
		"X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Proto", "X-Forwarded-Protocol", "X-Forwarded-Scheme", "X-Forwarded-Server",
		"X-Forwarded-Ssl", "X-Forwarded-Uri", "X-Host", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Host",
		"X-Original-Uri", "X-Original-Url", "X-Rewrite-Url", "X-Url-Scheme",
	} {
		headers = append(headers, name, "evil")
	}
	s.get(t, "/a", headers...)
	for name, values := range s.origin.received("/a")[0].Header {
		if strings.Contains(strings.Join(values, ""), "evil") {
			t.Errorf("the origin received %s: %q", name, values)
		}
	}
}

// TestTunnels: the origin gets no offer to upgrade to HTTP/2, through which a client could send it any request. It gets other
// offers.
func TestTunnels(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for upgrade, want := range map[string]string{"h2c": "", "websocket, H2C": "", "websocket": "websocket"} {
		s.get(t, "/"+upgrade[:3], "Upgrade", upgrade, "Connection", "Upgrade")
		if r := s.origin.received("/" + upgrade[:3]); r[len(r)-1].Header.Get("Upgrade") != want {
			t.Errorf("%s: the origin received %q", upgrade, r[len(r)-1].Header)
		}
	}
}

// TestFragments: no rule sees the fragment of a URL, so the origin does not get it.
func TestFragments(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/account/")}, Bypass: new(true)}}
	})
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.edge)
	must(t, err)
	defer func() { _ = connection.Close() }() // It was read.
	_, err = io.WriteString(connection, "GET /a/#/../account/ HTTP/1.0\r\nHost: a\r\n\r\n")
	must(t, err)
	_, err = io.ReadAll(connection)
	must(t, err)
	if n := len(s.origin.received("/a/")); n != 1 || s.origin.count() != 1 {
		t.Errorf("the origin received %d requests for the path without its fragment, and %d at all", n, s.origin.count())
	}
}
