package console

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"example.com/nginx-operator/test/eventually"
)

// ownToken and alice are tokens: that of the console's pod, which is never used, and that of a viewer.
const ownToken, alice = "own-token-of-the-console", "token-of-alice"

// recordingServer stands in for the API server. It accepts the tokens of viewers, and records the headers of requests.
type recordingServer struct {
	mu      sync.Mutex
	headers []http.Header
}

func (s *recordingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.headers = append(s.headers, r.Header.Clone())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-of-"):
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`))
	case r.URL.Query().Get("watch") == "true":
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		user, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer token-of-"), "-")
		_, _ = fmt.Fprintf(w, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":%q}}}`, user)
	}
}

func (s *recordingServer) recorded() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.headers)
}

// startSignedIn starts a console that many use, before a stand-in of an API server. Its own configuration has credentials.
func startSignedIn(t *testing.T, options Options) (*setup, *recordingServer) {
	t.Helper()
	recorder := &recordingServer{}
	api := httptest.NewServer(recorder)
	t.Cleanup(api.Close)
	options.Viewers = NewSignedIn(&rest.Config{
		Host: api.URL, BearerToken: ownToken, Username: "own-user", Password: ownToken, Impersonate: rest.ImpersonationConfig{UserName: "own-user"},
	})
	options.SignIn = true
	s := &setup{logs: &bytes.Buffer{}}
	server := httptest.NewUnstartedServer(nil)
	s.host, s.url = server.Listener.Addr().String(), "http://"+server.Listener.Addr().String()
	server.Config.Handler, server.Config.ErrorLog = New(t.Context(), options), log.New(s.logs, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return s, recorder
}

func authorizedAs(token string) string { return "Authorization: Bearer " + token }

// TestSignedInHeaders: of a request only the token reaches the API server, and the console's own credentials never do.
func TestSignedInHeaders(t *testing.T) {
	s, recorder := startSignedIn(t, Options{MaxStreams: 8})
	foreign := []string{
		"Impersonate-User: root", "Impersonate-Group: system:masters", "Impersonate-Extra-Scopes: all", "X-Remote-User: root", "X-Forwarded-User: root",
		"X-Forwarded-Access-Token: forwarded", "Cookie: session=cookie", "Proxy-Authorization: Basic cm9vdDpyb290", "X-Forwarded-For: 192.0.2.1", "Te: trailers",
	}
	for _, path := range []string{"/api/session", "/api/fleet", "/api/applications/shop/web", "/api/applications/shop/web/traffic"} {
		ctx, leave := context.WithCancel(t.Context())
		before := len(recorder.recorded())
		s.request(ctx, t, "GET", path, "", append(foreign, authorizedAs(alice))...)
		eventually.Holds(t, patience, path+" reaches the API server", func() bool { return len(recorder.recorded()) > before })
		leave()
	}
	s.request(t.Context(), t, "POST", "/api/applications/shop/web/edits", `{"command":"restart"}`, append(foreign, authorizedAs(alice))...)
	allowed := []string{"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent"}
	for _, header := range recorder.recorded() {
		for _, name := range slices.Sorted(maps.Keys(header)) {
			if !slices.Contains(allowed, name) {
				t.Errorf("the API server got the header %s: %v", name, header[name])
			}
		}
		if got := header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+alice {
			t.Errorf("the API server got the credentials %q", got)
		}
	}
}

// TestSignedInWithoutToken: a request without a well-formed token is refused, and nothing is requested of the API server.
func TestSignedInWithoutToken(t *testing.T) {
	s, recorder := startSignedIn(t, Options{MaxStreams: 1})
	for name, headers := range map[string][]string{
		"no header":       nil,
		"no token":        {"Authorization: Bearer "},
		"a password":      {"Authorization: Basic " + alice},
		"a cookie":        {"Cookie: token=" + alice},
		"two words":       {"Authorization: Bearer " + alice + " " + alice},
		"a quote":         {`Authorization: Bearer "` + alice + `"`},
		"a long token":    {"Authorization: Bearer " + strings.Repeat("x", maxToken+1)},
		"a forwarded one": {"X-Forwarded-Access-Token: " + alice},
	} {
		response := s.request(t.Context(), t, "GET", "/api/session?token="+alice, "", headers...)
		var got failure
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil || response.StatusCode != http.StatusUnauthorized || got.Reason != reasonNoToken {
			t.Errorf("%s: %d %+v %v", name, response.StatusCode, got, err)
		}
	}
	if n := len(recorder.recorded()); n > 0 {
		t.Errorf("the API server got %d requests", n)
	}
}

// TestSignedInRefused: a token that the API server refuses is answered as such, also in a stream.
func TestSignedInRefused(t *testing.T) {
	s, _ := startSignedIn(t, Options{MaxStreams: 1})
	response := s.request(t.Context(), t, "GET", "/api/session", "", authorizedAs("stale"))
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("session: %s", response.Status)
	}
	line := lines(t, s.request(t.Context(), t, "GET", "/api/fleet", "", authorizedAs("stale")))()
	if line["code"] != 401.0 || line["reason"] != "Unauthorized" {
		t.Errorf("stream: %v", line)
	}
}

// TestSignedInLeaks: no token is in an answer or a log, whatever fails.
func TestSignedInLeaks(t *testing.T) {
	viewers := NewSignedIn(&rest.Config{Host: "http://127.0.0.1:1", BearerToken: ownToken})
	logs := &bytes.Buffer{}
	server := httptest.NewUnstartedServer(New(t.Context(), Options{Viewers: viewers, MaxStreams: 1, SignIn: true}))
	server.Config.ErrorLog = log.New(logs, "", 0)
	server.Start()
	defer server.Close()
	s := &setup{url: server.URL}
	for _, path := range []string{"/api/session", "/api/fleet", "/api/applications/shop/web", "/nothing"} {
		ctx, cancel := context.WithCancel(t.Context())
		response := s.request(ctx, t, "GET", path, "", authorizedAs(alice))
		first := make([]byte, 4<<10)
		n, err := io.ReadAtLeast(response.Body, first, 2)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if text := string(first[:n]) + fmt.Sprint(response.Header); strings.Contains(text, alice) || strings.Contains(text, ownToken) {
			t.Errorf("%s leaks a token: %s", path, text)
		}
		cancel()
	}
	if strings.Contains(logs.String(), alice) || strings.Contains(logs.String(), ownToken) {
		t.Errorf("the log has a token: %s", logs)
	}
}

// requestOf returns a request with a token.
func requestOf(token string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
}

// clientOf returns the client of a token, which is made if there is none.
func clientOf(t *testing.T, s *signedIn, token string) *Viewer {
	t.Helper()
	v, err := s.Of(requestOf(token))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// accept returns the client of a token that the API server accepts.
func accept(t *testing.T, s *signedIn, token string) *Viewer {
	t.Helper()
	v := clientOf(t, s, token)
	s.answered(v.id, http.StatusCreated)
	return v
}

// TestClients: a viewer has one client, which goes out of memory some time after its last use; others give way for new ones.
func TestClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignedIn(&rest.Config{Host: "http://127.0.0.1:1"}, 2, 2)
		a, b := accept(t, s, "a"), accept(t, s, "b")
		if a == b || a.id == b.id {
			t.Error("two tokens have one client")
		}
		time.Sleep(clientLifetime - time.Second)
		if clientOf(t, s, "a") != a {
			t.Error("a client in use was replaced")
		}
		accept(t, s, "c")
		if len(s.clients) != 2 || clientOf(t, s, "a") != a {
			t.Errorf("the client that was not used for the longest time stays: %d clients", len(s.clients))
		}
		time.Sleep(clientLifetime + time.Second)
		synctest.Wait()
		if len(s.clients) != 0 {
			t.Errorf("%d clients stay", len(s.clients))
		}
	})
}

// TestUnproven: clients whose tokens the API server has not accepted displace each other only, and live for seconds.
func TestUnproven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSignedIn(&rest.Config{Host: "http://127.0.0.1:1"}, 2, 3)
		a, b := accept(t, s, "a"), accept(t, s, "b")
		for i := range 10 {
			time.Sleep(time.Second)
			clientOf(t, s, fmt.Sprint("invented-", i))
		}
		if len(s.clients) != 5 {
			t.Errorf("%d clients, want 2 proven ones and 3 others", len(s.clients))
		}
		time.Sleep(unprovenLifetime)
		synctest.Wait()
		if len(s.clients) != 2 || clientOf(t, s, "a") != a || clientOf(t, s, "b") != b {
			t.Errorf("%d clients, want those that were accepted", len(s.clients))
		}
	})
}

// TestAnswered: an answer that proves a token keeps its client, a refused token is removed, and other answers decide nothing.
func TestAnswered(t *testing.T) {
	for _, tt := range []struct {
		codes         []int
		known, proven bool
	}{
		{nil, true, false},
		{[]int{200}, true, true},
		{[]int{403}, true, true},
		{[]int{401}, false, false},
		{[]int{401, 200}, false, false},
		{[]int{200, 401}, false, false},
		{[]int{400}, true, false},
		{[]int{429}, true, false},
		{[]int{502}, true, false},
		{[]int{201, 502}, true, true},
	} {
		s := newSignedIn(&rest.Config{Host: "http://127.0.0.1:1"}, 1, 1)
		v := clientOf(t, s, alice)
		for _, code := range tt.codes {
			s.answered(v.id, code)
		}
		client, known := s.clients[v.id]
		if known != tt.known || known && client.proven != tt.proven {
			t.Errorf("%v: known %v, proven %v", tt.codes, known, known && client.proven)
		}
	}
}

// TestInventedTokens: long tokens that the API server refuses leave nothing in memory, and displace no viewer.
func TestInventedTokens(t *testing.T) {
	const requests, bound = 1200, 8 << 20
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The recording server would keep the tokens in memory.
		(&recordingServer{}).ServeHTTP(w, r)
	}))
	defer api.Close()
	s := newSignedIn(&rest.Config{Host: api.URL}, 1, maxUnproven)
	v := clientOf(t, s, alice)
	if name, err := v.user(t.Context()); err != nil || name != "alice" {
		t.Fatalf("%q, %v", name, err)
	}
	before := heap()
	for i := range requests {
		token := fmt.Sprint(i, "-") + strings.Repeat("x", maxToken-10)
		if _, err := clientOf(t, s, token).user(t.Context()); err == nil {
			t.Fatal("an invented token is accepted")
		}
	}
	grown := heap() - before
	if len(s.clients) != 1 || clientOf(t, s, alice) != v {
		t.Errorf("%d clients, want that of the viewer", len(s.clients))
	}
	if grown > bound {
		t.Errorf("%d KiB stay in memory", grown>>10)
	}
}

// heap returns the bytes of all live objects.
func heap() int64 {
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

// TestStreamsOfViewer: the streams of a user are bounded, however many tokens they have, and leave room for others.
func TestStreamsOfViewer(t *testing.T) {
	s, _ := startSignedIn(t, Options{MaxStreams: 3, MaxStreamsOfViewer: 2})
	ctx, leave := context.WithCancel(t.Context())
	open := func(token string) int {
		return s.request(ctx, t, "GET", "/api/fleet", "", authorizedAs(token)).StatusCode
	}
	for i, tt := range []struct {
		token string
		code  int
	}{{alice, 200}, {alice + "-2", 200}, {alice, 429}, {alice + "-3", 429}, {"token-of-bob", 200}, {"token-of-carol", 429}} {
		if code := open(tt.token); code != tt.code {
			t.Errorf("stream %d of %s: %d, want %d", i, tt.token, code, tt.code)
		}
	}
	leave()
	eventually.Holds(t, patience, "there is room again", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return s.request(ctx, t, "GET", "/api/fleet", "", authorizedAs("token-of-carol")).StatusCode == http.StatusOK
	})
}

// TestLimiter: nothing is remembered of viewers who have left.
func TestLimiter(t *testing.T) {
	l := newLimiter(2, 1)
	first, second := l.acquire(viewerID{1}), l.acquire(viewerID{2})
	if first == nil || second == nil || l.acquire(viewerID{3}) != nil {
		t.Error("the total is not the bound")
	}
	first()
	if l.acquire(viewerID{2}) != nil {
		t.Error("one viewer has more streams than allowed")
	}
	second()
	if l.open != 0 || len(l.of) != 0 {
		t.Errorf("%d streams are open: %v", l.open, l.of)
	}
}

// TestSilentStreamOfHTTP2: a stream stays open while there is nothing to send for longer than a write may take.
func TestSilentStreamOfHTTP2(t *testing.T) {
	const timeout = 50 * time.Millisecond
	c := &console{options: Options{WriteTimeout: timeout}, limiter: newLimiter(1, 1), ctx: t.Context()}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.streamed(func(ctx context.Context, _ *http.Request, _ *Viewer, s *stream) error {
			if err := s.send("first"); err != nil {
				return err
			}
			wait(ctx, 4*timeout)
			return s.send("second")
		})(w, r, &Viewer{})
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.ProtoMajor != 2 || string(body) != "\"first\"\n\"second\"\n" {
		t.Errorf("HTTP/%d: %q, %v", response.ProtoMajor, body, err)
	}
}

// TestStreamsEnd: streams end with the context of the console.
func TestStreamsEnd(t *testing.T) {
	api := httptest.NewServer(&recordingServer{})
	defer api.Close()
	ctx, end := context.WithCancel(t.Context())
	server := httptest.NewServer(New(ctx, Options{Viewers: NewSignedIn(&rest.Config{Host: api.URL}), MaxStreams: 1}))
	defer server.Close()
	s := &setup{url: server.URL}
	response := s.request(t.Context(), t, "GET", "/api/fleet", "", authorizedAs(alice))
	end()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Errorf("the stream ends with an error: %v", err)
	}
}

// TestHosts: declared hosts are accepted with any port, and all are if none is declared.
func TestHosts(t *testing.T) {
	for _, tt := range []struct {
		hosts []string
		host  string
		want  bool
	}{
		{nil, "anything.example.com", true},
		{[]string{"console.example.com"}, "console.example.com", true},
		{[]string{"console.example.com"}, "console.example.com:8443", true},
		{[]string{"console.example.com"}, "evil.example.com", false},
		{[]string{"console.example.com"}, "console.example.com.evil.example.com", false},
		{[]string{"127.0.0.1:8080"}, "127.0.0.1:8081", false},
		{[]string{"2001:db8::1"}, "[2001:db8::1]:8443", true},
		{[]string{"2001:db8::1"}, "[2001:db8::1]", true},
	} {
		if got := accepted(tt.hosts, tt.host); got != tt.want {
			t.Errorf("%v accept %s: %v", tt.hosts, tt.host, got)
		}
	}
}
