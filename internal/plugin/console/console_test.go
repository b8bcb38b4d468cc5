package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"example.com/nginx-operator/internal/plugin/console/fleet"
	"example.com/nginx-operator/test/eventually"
)

// patience bounds the wait for a condition. It does not measure speed.
const patience = 20 * time.Second

// apiServer stands in for the API server. It streams what events holds to each watch, until the watch ends.
type apiServer struct {
	events  chan string
	watches atomic.Int32
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "true" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"nginxoperators is forbidden: User \"eve\" <b>","reason":"Forbidden","code":403}`))
		return
	}
	a.watches.Add(1)
	defer a.watches.Add(-1)
	w.Header().Set("Content-Type", "application/json")
	controller := http.NewResponseController(w)
	_ = controller.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-a.events:
			_, _ = w.Write([]byte(event + "\n"))
			_ = controller.Flush()
		}
	}
}

// setup is a console before a stand-in of an API server.
type setup struct {
	api   *apiServer
	url   string
	host  string
	token string
	logs  *bytes.Buffer
}

func startConsole(t *testing.T, options Options) *setup {
	t.Helper()
	s := &setup{api: &apiServer{events: make(chan string)}, logs: &bytes.Buffer{}}
	api := httptest.NewServer(s.api)
	t.Cleanup(api.Close)
	viewers, token, err := NewLocal(&rest.Config{Host: api.URL, BearerToken: "secret-of-the-cluster"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	s.token, s.host, s.url = token, server.Listener.Addr().String(), "http://"+server.Listener.Addr().String()
	options.Viewers, options.Hosts = viewers, LocalHosts(s.host)
	server.Config.Handler, server.Config.ErrorLog = New(t.Context(), options), log.New(s.logs, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return s
}

// request sends a request with headers, each "Name: value".
func (s *setup) request(ctx context.Context, t *testing.T, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func (s *setup) authorized() string { return "Authorization: Bearer " + s.token }

// TestGuard: only the page itself, with the token, reaches the API.
func TestGuard(t *testing.T) {
	s := startConsole(t, Options{MaxStreams: 1})
	const api, page = "/api/applications/shop/web/edits", "/"
	for name, tt := range map[string]struct {
		method, path string
		headers      []string
		code         int
	}{
		"the page has no data, and needs no token": {"GET", page, nil, 200},
		"the page by a link":                       {"GET", page, []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200},
		"the page by localhost":                    {"GET", page, []string{"Host: localhost:" + strings.Split(s.host, ":")[1]}, 200},
		"rebound name":                             {"GET", page, []string{"Host: evil.example.com"}, 421},
		"rebound name with the port":               {"GET", page, []string{"Host: evil.example.com:" + strings.Split(s.host, ":")[1]}, 421},
		"no token":                                 {"POST", api, nil, 401},
		"another token":                            {"POST", api, []string{"Authorization: Bearer " + s.token + "x"}, 401},
		"empty token":                              {"POST", api, []string{"Authorization: Bearer "}, 401},
		"token as a password":                      {"POST", api, []string{"Authorization: Basic " + s.token}, 401},
		"token in the URL":                         {"POST", api + "?token=" + s.token, nil, 401},
		"token in a cookie":                        {"POST", api, []string{"Cookie: token=" + s.token}, 401},
		"page of another site":                     {"POST", api, []string{s.authorized(), "Origin: https://evil.example.com"}, 403},
		"page of another port":                     {"POST", api, []string{s.authorized(), "Origin: http://127.0.0.1:1"}, 403},
		"page without an origin":                   {"POST", api, []string{s.authorized(), "Origin: null"}, 403},
		"request of another site":                  {"POST", api, []string{s.authorized(), "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"}, 403},
		"the page itself":                          {"POST", api, []string{s.authorized(), "Origin: " + s.url}, 422},
		"no browser":                               {"POST", api, []string{s.authorized()}, 422},
		"another method":                           {"DELETE", api, []string{s.authorized()}, 405},
		"no legal name":                            {"POST", "/api/applications/shop/we%2Fb/edits", []string{s.authorized()}, 400},
		"a path instead of a name":                 {"POST", "/api/applications/%2e%2e/web/edits", []string{s.authorized()}, 400},
		"settings have no secret":                  {"GET", "/api/settings", nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			response := s.request(t.Context(), t, tt.method, tt.path, "{", tt.headers...)
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != tt.code {
				t.Errorf("status %d, want %d: %s %v", response.StatusCode, tt.code, body, err)
			}
			if bytes.Contains(body, []byte(s.token)) || bytes.Contains(body, []byte("secret-of-the-cluster")) {
				t.Errorf("the answer has a token: %s", body)
			}
			h := response.Header
			if tt.code != http.StatusMethodNotAllowed && (h.Get("Content-Security-Policy") != policy || h.Get("X-Content-Type-Options") != "nosniff") || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers: %v", h)
			}
		})
	}
}

// TestAssets: the page names only files that exist.
func TestAssets(t *testing.T) {
	s := startConsole(t, Options{MaxStreams: 1})
	for path, kind := range map[string]string{
		"/": "text/html", "/js/main.js": "text/javascript", "/css/base.css": "text/css", "/icon.svg": "image/svg+xml",
	} {
		response := s.request(t.Context(), t, "GET", path, "")
		if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), kind) {
			t.Errorf("%s: %s %s", path, response.Status, response.Header.Get("Content-Type"))
		}
	}
}

// TestNoListing: folders of the assets are not found, with a slash at the end or without.
func TestNoListing(t *testing.T) {
	s := startConsole(t, Options{MaxStreams: 1})
	for path, code := range map[string]int{
		"/js/": 404, "/js": 404, "/css/": 404, "/css": 404, "/js/./": 404, "/no": 404, "/": 200, "/js/main.js": 200,
	} {
		response, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != code {
			t.Errorf("%s: %s, want %d", path, response.Status, code)
		}
	}
}

// TestOriginScheme: a console that serves TLS knows the scheme of its pages. Without TLS, a proxy may serve them by either.
func TestOriginScheme(t *testing.T) {
	for _, tt := range []struct {
		server, origin string
		want           bool
	}{
		{"https", "https://console.example.com", true},
		{"https", "http://console.example.com", false},
		{"http", "http://console.example.com", true},
		{"http", "https://console.example.com", true},
		{"http", "ftp://console.example.com", false},
		{"http", "//console.example.com", false},
		{"https", "https://console.example.com:8443", false},
	} {
		r := httptest.NewRequest("POST", tt.server+"://console.example.com/", nil)
		r.Header.Set("Origin", tt.origin)
		if got := sameOrigin(r); got != tt.want {
			t.Errorf("%s accepts the origin %s: %v", tt.server, tt.origin, got)
		}
	}
}

// TestPreload: the page loads all modules at once, and not one after another as they import each other.
func TestPreload(t *testing.T) {
	page, err := embedded.ReadFile("assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := embedded.ReadDir("assets/js")
	if err != nil || len(modules) == 0 {
		t.Fatalf("%d modules: %v", len(modules), err)
	}
	for _, module := range modules {
		if !bytes.Contains(page, []byte(`"js/`+module.Name()+`"`)) {
			t.Errorf("index.html does not load js/%s", module.Name())
		}
	}
}

// lines reads a stream.
func lines(t *testing.T, response *http.Response) func() map[string]any {
	t.Helper()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	reader := bufio.NewReader(response.Body)
	return func() map[string]any {
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				t.Fatalf("the stream ended: %v", err)
			}
			var value map[string]any
			if len(line) > 1 {
				if err := json.Unmarshal(line, &value); err != nil {
					t.Fatal(err)
				}
				return value
			}
		}
	}
}

func event(kind, name string, replicas int) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"namespace":"shop","name":%q,"resourceVersion":"1"},"spec":{"replicas":%d}}}`, kind, name, replicas)
}

const synced = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}`

// TestFleet: rows arrive and change, and the watch ends with the stream.
func TestFleet(t *testing.T) {
	s := startConsole(t, Options{MaxStreams: 1})
	ctx, leave := context.WithCancel(t.Context())
	next := lines(t, s.request(ctx, t, "GET", "/api/fleet", "", s.authorized()))
	s.api.events <- event("ADDED", "web", 1)
	if line := next(); len(line["rows"].([]any)) != 1 {
		t.Errorf("first line: %v", line)
	}
	s.api.events <- synced
	for next()["synced"] != true {
		continue
	}
	s.api.events <- event("MODIFIED", "web", 3)
	if row := next()["rows"].([]any)[0].(map[string]any); row["replicas"] != 3.0 || row["name"] != "web" {
		t.Errorf("changed row: %v", row)
	}
	s.api.events <- event("DELETED", "web", 3)
	if line := next(); fmt.Sprint(line["gone"]) != "[shop/web]" {
		t.Errorf("last line: %v", line)
	}
	if n := s.api.watches.Load(); n != 1 {
		t.Errorf("%d watches for a view", n)
	}
	leave()
	eventually.Holds(t, patience, "the watch ends with the stream", func() bool { return s.api.watches.Load() == 0 })
}

// TestCoalesce: a reader gets the last of many changes, not each of them.
func TestCoalesce(t *testing.T) {
	f := newFleetFeed()
	h := f.handler()
	for i := range 1000 {
		a := &fleet.Application{}
		a.Metadata.Namespace, a.Metadata.Name, a.Spec.Replicas = "shop", "web", new(int32(i))
		h.Put(a)
	}
	if u := f.take(); len(u.Rows) != 1 || u.Rows[0].Replicas != 999 {
		t.Errorf("%d rows: %v", len(u.Rows), u.Rows)
	}
	h.Gone("shop/web")
	if u := f.take(); len(u.Rows) != 0 || len(u.Gone) != 1 {
		t.Errorf("%v", u)
	}
	if len(f.changes.signal) != 1 {
		t.Error("no change is reported")
	}
}

// TestStreamsAreBounded: one stream too many is refused, until another one ends.
func TestStreamsAreBounded(t *testing.T) {
	s := startConsole(t, Options{MaxStreams: 1})
	ctx, leave := context.WithCancel(t.Context())
	s.request(ctx, t, "GET", "/api/fleet", "", s.authorized())
	eventually.Holds(t, patience, "the first stream is open", func() bool { return s.api.watches.Load() == 1 })
	if got := s.request(t.Context(), t, "GET", "/api/fleet", "", s.authorized()).StatusCode; got != http.StatusTooManyRequests {
		t.Errorf("status of the second stream: %d", got)
	}
	leave()
	eventually.Holds(t, patience, "there is room again", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return s.request(ctx, t, "GET", "/api/fleet?namespace=x", "", s.authorized()).StatusCode != http.StatusTooManyRequests
	})
}

// TestSlowReader: the stream of a reader that does not read ends.
func TestSlowReader(t *testing.T) {
	ended := make(chan error, 1)
	c := &console{options: Options{WriteTimeout: 50 * time.Millisecond}, limiter: newLimiter(1, 1), ctx: t.Context()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.streamed(func(_ context.Context, _ *http.Request, _ *Viewer, s *stream) error {
			for {
				if err := s.send(strings.Repeat("x", 1<<20)); err != nil {
					ended <- err
					return err
				}
			}
		})(w, r, &Viewer{})
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the stream ended without an error")
		}
	case <-time.After(patience):
		t.Fatal("the stream goes on")
	}
}

// TestRefusals: what the API server refuses is said in its words, and no token is in an answer or a log.
func TestRefusals(t *testing.T) {
	s := startConsole(t, Options{MaxStreams: 1})
	for name, tt := range map[string]struct {
		body string
		code int
		says string
	}{
		"forbidden":       {`{"command":"restart","arguments":[]}`, 403, `nginxoperators is forbidden: User "eve" <b>`},
		"no JSON":         {`<`, 422, "no change of an application"},
		"unknown field":   {`{"command":"restart","patch":{}}`, 422, "unknown field"},
		"unknown command": {`{"command":"delete","arguments":[]}`, 422, `there is no change "delete"`},
		"no arguments":    {`{"command":"scale","arguments":[]}`, 422, "scale needs the name, REPLICAS"},
		"too long":        {`{"command":"` + strings.Repeat("x", maxEdit) + `"}`, 422, "too large"},
	} {
		response := s.request(t.Context(), t, "POST", "/api/applications/shop/web/edits", tt.body, s.authorized())
		var got failure
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil || response.StatusCode != tt.code || !strings.Contains(got.Message, tt.says) {
			t.Errorf("%s: %d %q %v", name, response.StatusCode, got.Message, err)
		}
		if strings.Contains(got.Message+s.logs.String(), s.token) {
			t.Errorf("%s: the token leaks: %s %s", name, got.Message, s.logs)
		}
	}
}
