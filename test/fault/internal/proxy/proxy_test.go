package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// server is an API server that records requests and serves a watch of injected events.
type server struct {
	mu       sync.Mutex
	requests []string
	events   chan string
	// watches counts the open watches.
	watches atomic.Int64
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	if r.URL.Query().Get("watch") == "" {
		_, _ = io.WriteString(w, `{"kind":"ConfigMap"}`)
		return
	}
	s.watches.Add(1)
	defer s.watches.Add(-1)
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-s.events:
			_, _ = io.WriteString(w, e+"\n")
			w.(http.Flusher).Flush()
		}
	}
}

func (s *server) writes() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.requests {
		if !strings.HasPrefix(a, http.MethodGet) {
			n++
		}
	}
	return n
}

func newClient(t *testing.T) (*Client, *server) {
	t.Helper()
	s := &server{events: make(chan string)}
	upstream := httptest.NewServer(s)
	t.Cleanup(upstream.Close)
	p, err := Start(t.Context(), &rest.Config{Host: upstream.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p.NewClient("me"), s
}

const configMaps = "/api/v1/namespaces/shop/configmaps"

func do(t *testing.T, method, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
}

// answered returns the status code of a response; 0: the connection closed without one.
func answered(t *testing.T, method, url string) int {
	t.Helper()
	response, err := do(t, method, url)
	if err != nil {
		return 0
	}
	return response.StatusCode
}

// TestFaults: each fault decides whether a write is carried out, and which response the client
// gets.
func TestFaults(t *testing.T) {
	for fault, want := range map[Fault]struct {
		code, writes, kills int
	}{
		None: {200, 1, 0}, Cut: {0, 0, 0}, Drop: {0, 1, 0}, Conflict: {409, 0, 0}, TooMany: {429, 0, 0}, Internal: {500, 0, 0},
		Quota: {403, 0, 0}, Timeout: {504, 1, 0}, KillBefore: {0, 0, 1}, KillAfter: {0, 1, 1},
	} {
		t.Run(string(fault), func(t *testing.T) {
			g, s := newClient(t)
			kills := 0
			g.OnKill = func() { kills++ }
			g.OnWrite = func(n int, r Request) Fault {
				if n != 1 || r.Verb != "create" || r.Resource != "configmaps" || r.Namespace != "shop" {
					t.Errorf("write %d is %s", n, r)
				}
				return fault
			}
			if code := answered(t, http.MethodGet, g.URL+configMaps+"/a"); code != http.StatusOK {
				t.Errorf("a read is answered %d", code)
			}
			code := answered(t, http.MethodPost, g.URL+configMaps)
			if code != want.code || s.writes() != want.writes || kills != want.kills {
				t.Errorf("answered %d, carried out %d times, killed %d times, want %+v", code, s.writes(), kills, want)
			}
			if code := answered(t, http.MethodGet, g.URL+configMaps+"/a"); (code == 0) != fault.Kills() {
				t.Errorf("a read afterwards is answered %d", code)
			}
		})
	}
}

func event(name string, version int) string {
	return fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"name":%q,"resourceVersion":"%d"}}}`, name, version)
}

// TestDeliveries: each delivery of the second event decides which events the client gets.
func TestDeliveries(t *testing.T) {
	for delivery, want := range map[Delivery]string{
		Deliver: "MODIFIED a 1, MODIFIED b 2, MODIFIED a 3, MODIFIED b 4",
		Late:    "MODIFIED a 1, MODIFIED b 2, MODIFIED a 3, MODIFIED b 4",
		Gone:    "MODIFIED a 1, ERROR 410", Superseded: "MODIFIED a 1, ERROR 410", Broken: "MODIFIED a 1",
	} {
		t.Run(string(delivery), func(t *testing.T) {
			g, s := newClient(t)
			g.OnEvent = func(e Event) Delivery {
				if e.N == 2 {
					return delivery
				}
				return Deliver
			}
			response, err := do(t, http.MethodGet, g.URL+configMaps+"?watch=true&resourceVersion=0")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for i, name := range []string{"a", "b", "a", "b"} {
					select {
					case s.events <- event(name, i+1):
					case <-t.Context().Done():
					}
				}
			}()
			if got := receive(t, response.Body); got != want {
				t.Errorf("it gets %s, want %s", got, want)
			}
		})
	}
}

// receive reads until it has four events, or the watch ends.
func receive(t *testing.T, body io.ReadCloser) string {
	t.Helper()
	defer body.Close() //nolint:errcheck // it was only read
	var got []string
	for lines := bufio.NewScanner(body); len(got) < 4 && lines.Scan(); {
		var f frame
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		var status metav1.Status
		if json.Unmarshal(f.Object, &status) == nil && status.Code != 0 {
			got = append(got, fmt.Sprintf("%s %d", f.Type, status.Code))
			continue
		}
		o := metadataOf(f)
		got = append(got, fmt.Sprintf("%s %s %s", f.Type, o.Name, o.ResourceVersion))
	}
	return strings.Join(got, ", ")
}

// TestReadFaults: reads meet faults, unless they fill a cache.
func TestReadFaults(t *testing.T) {
	for fault, want := range map[Fault]int{None: 200, Cut: 0, TooMany: 429, Internal: 500, Quota: 403} {
		g, _ := newClient(t)
		g.OnRead = func(n int, _ Request) Fault {
			if n == 2 {
				return fault
			}
			return None
		}
		for i, one := range []struct {
			path string
			code int
		}{{"?resourceVersion=0", 200}, {"/a", 200}, {"?resourceVersion=0", 200}, {"?labelSelector=a", want}, {"/a", 200}} {
			if code := answered(t, http.MethodGet, g.URL+configMaps+one.path); code != one.code {
				t.Errorf("%s: read %d is answered %d, want %d", fault, i+1, code, one.code)
			}
		}
		if n := len(g.Reads()); n != 3 || len(g.Writes()) != 0 {
			t.Errorf("%d reads were counted: %v", n, g.Reads())
		}
	}
}

// TestBehind: a client that lost a watch is behind until it watches again.
func TestBehind(t *testing.T) {
	g, s := newClient(t)
	become := func(behind bool) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			// A watch that has ended takes no event from the next one.
			return (g.Behind("") != nil) == behind && s.watches.Load() <= 1, nil
		}); err != nil {
			t.Fatal(g.Behind(""))
		}
	}
	watch := func() *http.Response {
		response, err := do(t, http.MethodGet, g.URL+configMaps+"?watch=true&resourceVersion=0")
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	response := watch()
	become(false)
	g.OnEvent = func(Event) Delivery { return Broken }
	s.events <- event("a", 1)
	if got := receive(t, response.Body); got != "" {
		t.Errorf("it gets %s", got)
	}
	become(true)
	g.OnEvent = func(Event) Delivery { return Late }
	watch()
	become(false)
	s.events <- event("a", 2)
	become(true)
	s.events <- event("a", 3)
	become(false)
}

// TestFreeze: a frozen view is listed at its version, and a watch of it starts only when it thaws.
func TestFreeze(t *testing.T) {
	g, s := newClient(t)
	g.Freeze("configmaps", "7")
	for _, query := range []string{"?resourceVersion=0", "?timeoutSeconds=60", "?timeoutSeconds=60&continue=a", ""} {
		if _, err := do(t, http.MethodGet, g.URL+configMaps+query); err != nil {
			t.Fatal(err)
		}
	}
	watched := make(chan error, 1)
	go func() {
		_, err := do(t, http.MethodGet, g.URL+configMaps+"?watch=true&resourceVersion=7")
		watched <- err
	}()
	g.Thaw()
	if err := <-watched; err != nil {
		t.Fatal(err)
	}
	want := []string{
		"GET " + configMaps + "?resourceVersion=7&resourceVersionMatch=Exact",
		"GET " + configMaps + "?resourceVersion=7&resourceVersionMatch=Exact&timeoutSeconds=60",
		"GET " + configMaps + "?timeoutSeconds=60&continue=a", "GET " + configMaps,
		"GET " + configMaps + "?watch=true&resourceVersion=7",
	}
	if got := strings.Join(s.requests, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the requests to the API server are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestExpire: every view has to be listed again, and the client records which were.
func TestExpire(t *testing.T) {
	g, s := newClient(t)
	watch := func() string {
		response, err := do(t, http.MethodGet, g.URL+configMaps+"?watch=true&resourceVersion=0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			select {
			case s.events <- event("a", 1):
			case <-t.Context().Done():
			}
		}()
		line, err := bufio.NewReader(response.Body).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if line := watch(); !strings.Contains(line, "MODIFIED") {
		t.Errorf("before: %s", line)
	}
	g.Expire()
	if g.Listed() == nil {
		t.Error("it is listed already")
	}
	if line := watch(); !strings.Contains(line, "410") {
		t.Errorf("before the next list: %s", line)
	}
	if _, err := do(t, http.MethodGet, g.URL+configMaps+"?resourceVersion=0"); err != nil {
		t.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return g.Listed() == nil, nil
	}); err != nil {
		t.Error(g.Listed())
	}
}
