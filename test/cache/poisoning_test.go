//go:build instance

package cache

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

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

// unkeyed are headers that common servers and frameworks take for the URL, the scheme, the method, the client or the form of a
// request, and one that no server knows.
var unkeyed = []string{
	"Base-Url", "Client-Ip", "Destination", "Fastly-Host", "Forwarded", "Front-End-Https", "Hx-Request", "Max-Forwards", "Next-Router-State-Tree",
	"Proxy", "Purpose", "Referer", "Rsc", "Surrogate-Capability", "True-Client-Ip", "Turbo-Frame", "X-Accel-Mapping", "X-Arr-Ssl", "X-Base-Url",
	"X-Cache-Ending", "X-Cache-Locked", "X-Cache-Lookup", "X-Cluster-Client-Ip", "X-Envoy-Internal", "X-Envoy-Original-Path", "X-Forwarded-By",
	"X-Forwarded-Context", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Path", "X-Forwarded-Port", "X-Forwarded-Prefix",
	"X-Forwarded-Proto", "X-Forwarded-Protocol", "X-Forwarded-Scheme", "X-Forwarded-Server", "X-Forwarded-Ssl", "X-Forwarded-Uri", "X-Host",
	"X-Http-Host-Override", "X-Http-Method", "X-Http-Method-Override", "X-Invoke-Path", "X-Invoke-Status", "X-Matched-Path", "X-Method-Override",
	"X-Middleware-Prefetch", "X-Middleware-Subrequest", "X-Nextjs-Data", "X-Now-Route-Matches", "X-Original-Host", "X-Original-Uri",
	"X-Original-Url", "X-Pjax", "X-Real-Ip", "X-Requested-With", "X-Rewrite-Url", "X-Script-Name", "X-Sendfile-Type", "X-Unknown",
	"X-Url-Scheme",
}

// TestUnkeyedHeaders: headers that are not part of the key do not reach the origin as clients send them, with those of common
// use as the exceptions: neither by an edge, nor from a pod that sends requests to a shard itself.
func TestUnkeyedHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/slices/")}, Slice: new(resource.MustParse("64Ki"))}}
	})
	direct := &tiers{edge: s.shardAddress}
	var headers []string
	for _, name := range unkeyed {
		headers = append(headers, name, "evil")
	}
	headers = append(headers, "Accept-Language", "de", "User-Agent", "known", "X-Cache-Key", peerKey)
	for path, by := range map[string]*tiers{"/edge": s, "/shard": direct, "/slices/edge": s, "/slices/shard": direct} {
		by.get(t, path, headers...)
		received := s.origin.received(path)
		if len(received) == 0 {
			t.Fatalf("%s: the origin received no request", path)
		}
		header := received[0].Header
		for name, values := range header {
			if strings.Contains(strings.Join(values, ""), "evil") || name == "X-Cache-Key" {
				t.Errorf("%s: the origin received %s: %q", path, name, values)
			}
		}
		if header.Get("Accept-Language") != "de" || header.Get("User-Agent") != "known" || received[0].Host == "" {
			t.Errorf("%s: the origin received %q", path, header)
		}
	}
}

// TestClientAddress: an origin gets the addresses that a request came by only if its answer is for this client.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.get(t, "/stored", "X-Forwarded-For", "203.0.113.7")
	s.get(t, "/direct", "X-Forwarded-For", "203.0.113.7", "Authorization", "x")
	s.send(t, http.MethodPost, "/upload", "X-Forwarded-For", "203.0.113.7")
	for path, want := range map[string]string{"/stored": "", "/direct": "203.0.113.7, 127.0.0.1", "/upload": "203.0.113.7, 127.0.0.1"} {
		received := s.origin.received(path)
		if len(received) != 1 || strings.Join(received[0].Header.Values("X-Forwarded-For"), "; ") != want {
			t.Errorf("%s: the origin received %d requests, %q", path, len(received), received[0].Header)
		}
	}
}

// TestOrigin: an answer to a request with Origin is stored for this one only, although its origin sends no Vary, unless it is for
// all.
func TestOrigin(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const evil, good = "https://evil.example", "https://good.example"
	for name, c := range map[string]struct {
		headers        []string
		shared, varies bool
	}{
		"reflected":            {headers: []string{"Access-Control-Allow-Origin", evil}, varies: true},
		"reflected and varies": {headers: []string{"Access-Control-Allow-Origin", evil, "Vary", "Accept, Origin"}, varies: true},
		"reflected and other":  {headers: []string{"Access-Control-Allow-Origin", evil, "Vary", "X-Origin"}, varies: true},
		"without":              {varies: true},
		"for all":              {headers: []string{"Access-Control-Allow-Origin", "*"}, shared: true},
	} {
		path := with("/"+strings.ReplaceAll(name, " ", "-"), c.headers...)
		first, again, other := s.get(t, path, "Origin", evil), s.get(t, path, "Origin", evil), s.get(t, path, "Origin", good)
		if again.body != first.body {
			t.Errorf("%s: the answer is not stored (%s)", name, again.header.Get("Cache-Status"))
		}
		if shared := other.body == first.body; shared != c.shared {
			t.Errorf("%s: another origin gets the stored answer: %v (%s)", name, shared, other.header.Get("Cache-Status"))
		}
		varies := 0
		for value := range strings.SplitSeq(strings.Join(first.header.Values("Vary"), ","), ",") {
			if strings.TrimSpace(value) == "Origin" {
				varies++
			}
		}
		if (varies == 1) != c.varies {
			t.Errorf("%s: Vary is %q", name, first.header.Values("Vary"))
		}
	}
	if got := s.get(t, "/plain"); got.header.Get("Vary") != "" || s.get(t, "/plain").body != got.body {
		t.Errorf("without Origin, Vary is %q", got.header.Get("Vary"))
	}
}

// TestOnlyPodsOfTheCache: a shard answers only requests with the key of its cache.
func TestOnlyPodsOfTheCache(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.get(t, "/stored")
	direct := &tiers{edge: s.shardAddress}
	for name, headers := range map[string][]string{
		"no-key": nil, "an-empty-one": {"X-Cache-Key", ""}, "another-one": {"X-Cache-Key", "dcba"}, "its-beginning": {"X-Cache-Key", peerKey[:2]},
		"more-than-it": {"X-Cache-Key", peerKey + "e"}, "as-another-shard": {"X-Cache-Only", "0"},
		"as-one-that-ends": {"X-Cache-Only", "ending", "X-Cache-Ending", "x"},
	} {
		for _, path := range []string{"/stored", "/" + name} {
			if got, err := direct.try(t, http.MethodGet, path, headers...); err == nil {
				t.Errorf("%s: the shard answers with %d for %s", name, got.status, path)
			}
		}
		if len(s.origin.received("/"+name)) > 0 {
			t.Errorf("%s: the request reaches the origin", name)
		}
	}
	if got := direct.get(t, "/stored", "X-Cache-Key", peerKey); got.status != http.StatusOK {
		t.Errorf("with the key, the status is %d", got.status)
	}
}

// TestKeyStays: the key leaves the cache with no request.
func TestKeyStays(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.get(t, "/stored")
	s.get(t, "/direct", "Authorization", "x", "X-Cache-Key", "of the client")
	if status, err := s.upload(t, "/upload"); status != http.StatusOK {
		t.Errorf("the status of an upload is %d (%v)", status, err)
	}
	for _, path := range []string{"/stored", "/direct", "/upload"} {
		for _, request := range s.origin.received(path) {
			if request.Header.Get("X-Cache-Key") != "" {
				t.Errorf("the origin received a key with %s", path)
			}
		}
	}
}

// TestWrongKey: clients of edges whose key the shards do not accept get the answers of the origin, and the edges store them.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	in := declare(nil)
	in.Keys.Edge = "dcba"
	s := startTiers(t, newOrigin(t), in, map[string]string{"shard.test": freePorts(t, 1)[0]})
	for range 20 {
		if got := s.get(t, "/a"); got.status != http.StatusOK {
			t.Fatalf("the status is %d (%s)", got.status, got.header.Get("Cache-Status"))
		}
	}
	if n := len(s.origin.received("/a")); n != 1 {
		t.Errorf("the origin received %d requests", n)
	}
}

// passOn returns a change of a spec by which headers reach the origin.
func passOn(headers ...string) func(*v1alpha1.NginxCacheSpec) {
	return func(spec *v1alpha1.NginxCacheSpec) {
		spec.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/")}, RequestHeaders: headers}}
	}
}

// credentials are headers with a credential, or by which a proxy says who the client is.
var credentials = []string{
	"Authorization", "Cf-Access-Jwt-Assertion", "Client-Cert", "Cookie", "Proxy-Authorization", "Remote-User", "Ssl-Client-Cert", "Ssl-Client-Subject-Dn",
	"Ssl-Client-Verify", "Tailscale-User-Login", "X-Amz-Security-Token", "X-Amzn-Oidc-Accesstoken", "X-Amzn-Oidc-Data", "X-Amzn-Oidc-Identity",
	"X-Api-Key", "X-Auth-Token", "X-Forwarded-Client-Cert", "X-Forwarded-User", "X-Goog-Authenticated-User-Email", "X-Goog-Authenticated-User-Id",
	"X-Goog-Iap-Jwt-Assertion", "X-Ms-Client-Principal", "X-Ms-Client-Principal-Id", "X-Ms-Client-Principal-Name", "X-Pomerium-Claim-Email",
	"X-Pomerium-Jwt-Assertion", "X-Ssl-Client-Cert", "X-Ssl-Client-S-Dn", "X-Ssl-Client-Verify", "X-Vouch-User",
}

// TestCredentials: an answer to a request with a credential is for this client, although its origin says nothing. A rule can say
// that a header is none.
func TestCredentials(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/declared/")}, RequestHeaders: []string{"X-API-Key", "RSC"}}}
	})
	for _, name := range credentials {
		path := "/" + name
		alice, other := s.get(t, path, name, "alice"), s.get(t, path)
		if received := s.origin.received(path); alice.body == other.body || received[0].Header.Get(name) != "alice" {
			t.Errorf("%s: another client gets %q, and the origin received %q", name, other.body, received[0].Header)
		}
	}
	path := with("/declared/a", "Vary", "RSC")
	first := s.get(t, path, "X-Api-Key", "public", "RSC", "1")
	if again := s.get(t, path, "X-Api-Key", "public", "RSC", "1"); again.body != first.body {
		t.Error("a header that a rule declares keeps the answer from being stored")
	}
	if other := s.get(t, path, "X-Api-Key", "public"); other.body == first.body {
		t.Error("an answer is shared although it varies")
	}
	if header := s.origin.received("/declared/a")[0].Header; header.Get("RSC") != "1" || header.Get("X-Api-Key") != "public" {
		t.Errorf("the origin received %q", header)
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
