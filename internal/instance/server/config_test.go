package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// TestConfigs: only a connection through the loopback interface from outside of the container reaches the configurations.
func TestConfigs(t *testing.T) {
	const local, pod = "127.0.0.1:9113", "10.0.0.1:9113"
	outside := func(_, _ netip.AddrPort) bool { return false }
	inside := func(_, _ netip.AddrPort) bool { return true }
	const site = `{"site.conf": "c2VydmVyIHt9"}`
	for name, tt := range map[string]struct {
		server, client, path, body string
		inContainer                func(client, server netip.AddrPort) bool
		code                       int
		want                       string
	}{
		"shown":                   {local, "127.0.0.1:4000", instanceapi.PathConfig, "", outside, 200, `{"revision":"r1","files":{"site.conf":"c2VydmVyIHt9"}}`},
		"tested":                  {local, "127.0.0.1:4000", instanceapi.PathConfigTest, site, outside, 200, `"test":"Passed"`},
		"IPv6":                    {"[::1]:9113", "[::1]:4000", instanceapi.PathConfig, "", outside, 200, "r1"},
		"IPv4 in IPv6":            {"[::ffff:127.0.0.1]:9113", "[::ffff:127.0.0.1]:4000", instanceapi.PathConfig, "", outside, 200, "r1"},
		"from the network":        {pod, "10.0.0.2:4000", instanceapi.PathConfig, "", outside, 403, "only through kubectl port-forward"},
		"test from the network":   {pod, "10.0.0.2:4000", instanceapi.PathConfigTest, site, outside, 403, "only through kubectl port-forward"},
		"a forged client address": {pod, "127.0.0.1:4000", instanceapi.PathConfig, "", outside, 403, "only through kubectl port-forward"},
		"from nginx":              {local, "127.0.0.1:4000", instanceapi.PathConfigTest, site, inside, 403, "only through kubectl port-forward"},
		"no JSON":                 {local, "127.0.0.1:4000", instanceapi.PathConfigTest, "server {}", outside, 400, "the files cannot be read"},
		"no files":                {local, "127.0.0.1:4000", instanceapi.PathConfigTest, "{}", outside, 422, "the configuration has no files"},
		"a file of the operator":  {local, "127.0.0.1:4000", instanceapi.PathConfigTest, `{"nginx-operator-checks.json": ""}`, outside, 422, "reserved for the operator"},
		"a path":                  {local, "127.0.0.1:4000", instanceapi.PathConfigTest, `{"../site.conf": ""}`, outside, 422, "is not a file name"},
		"too large":               {local, "127.0.0.1:4000", instanceapi.PathConfigTest, `{"site.conf": "` + strings.Repeat("A", instanceapi.MaxConfigFiles) + `"}`, outside, 400, "too large"},
		"too many files":          {local, "127.0.0.1:4000", instanceapi.PathConfigTest, `{"a":""` + strings.Repeat(`,"a":""`, 3000) + `}`, outside, 400, "more than 2048"},
		"busy":                    {local, "127.0.0.1:4000", instanceapi.PathConfigTest, `{"busy.conf": ""}`, outside, 503, "try again"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConfigs(&supervisor{})
			c.inContainer = tt.inContainer
			handler, method := c.show, http.MethodGet
			if tt.path == instanceapi.PathConfigTest {
				handler, method = c.test, http.MethodPost
			}
			ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tt.server)))
			request := httptest.NewRequestWithContext(ctx, method, tt.path, strings.NewReader(tt.body))
			request.RemoteAddr = tt.client
			recorder := &deadlines{httptest.NewRecorder()}
			c.only(handler)(recorder, request)
			if recorder.Code != tt.code || !strings.Contains(recorder.Body.String(), tt.want) {
				t.Errorf("%d %q, want %d with %q", recorder.Code, recorder.Body.String(), tt.code, tt.want)
			}
		})
	}
}

// TestOneConfigAtATime: while a request is answered, others are refused, before their client is looked for in the table of all
// connections: many requests must not cost the instance manager its memory and time.
func TestOneConfigAtATime(t *testing.T) {
	c, checks := newConfigs(&supervisor{}), 0
	c.inContainer = func(_, _ netip.AddrPort) bool { checks++; return false }
	send := func(handler http.HandlerFunc) int {
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:9113")))
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, instanceapi.PathConfig, nil)
		request.RemoteAddr = "127.0.0.1:4000"
		recorder := &deadlines{httptest.NewRecorder()}
		c.only(handler)(recorder, request)
		return recorder.Code
	}
	if code := send(func(http.ResponseWriter, *http.Request) {
		if code := send(c.show); code != http.StatusTooManyRequests {
			t.Errorf("a second request gets %d", code)
		}
		if checks != 1 {
			t.Errorf("%d clients were checked", checks)
		}
	}); code != http.StatusOK {
		t.Errorf("the first request gets %d", code)
	}
	if code := send(c.show); code != http.StatusOK {
		t.Errorf("a later request gets %d", code)
	}
}

// TestConfigsRefuseOwnProcesses: with real sockets, the process itself counts as one of the container.
func TestConfigsRefuseOwnProcesses(t *testing.T) {
	server := httptest.NewServer(Handler(sources(t, "r1")))
	defer server.Close()
	response, err := http.Get(server.URL + instanceapi.PathConfig)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("the answer is %s", response.Status)
	}
}

// deadlines accepts deadlines, which a recorder lacks.
type deadlines struct{ *httptest.ResponseRecorder }

// SetReadDeadline implements what http.ResponseController looks for.
func (deadlines) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements what http.ResponseController looks for.
func (deadlines) SetWriteDeadline(time.Time) error { return nil }
