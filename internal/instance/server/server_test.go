package server

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/nginx-operator/internal/instance/health"
	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/supervise"
	"example.com/nginx-operator/internal/instance/window"
	"example.com/nginx-operator/internal/instanceapi"
)

const validToken = "open"

// sources returns the sources of an instance that serves a revision, or waits, and has counted two
// requests.
func sources(t *testing.T, serving string) Sources {
	t.Helper()
	snapshot := &supervise.Snapshot{Status: instanceapi.Status{Protocol: instanceapi.Protocol, Serving: serving}, Waiting: "it waits"}
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "a_figure"}))
	start := time.Now()
	recent := window.NewRing(func() time.Time { return start })
	recent.SetServedRevision("r1")
	recent.Count([]byte("r1"), 200, .01)
	recent.Count([]byte("r1"), 502, .01)
	return Sources{
		Doctor:  &health.Doctor{Snapshot: func() *supervise.Snapshot { return snapshot }, Failing: func() string { return "" }, Sockets: proc.FS(t.TempDir()), Proc: proc.FS(t.TempDir())},
		Metrics: registry, Recent: recent,
		Authorize: func(token string) bool { return token == validToken },
	}
}

func send(s Sources, method, path, body string) (int, string) {
	recorder := httptest.NewRecorder()
	Handler(s).ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	return recorder.Code, recorder.Body.String()
}

func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		serving, method, path, body string
		code                        int
		want                        string
	}{
		"alive":              {"", "GET", instanceapi.PathLive, "", 200, "ok"},
		"ready":              {"r1", "GET", instanceapi.PathReady, "", 200, "ok"},
		"not ready":          {"", "GET", instanceapi.PathReady, "", 503, "it waits"},
		"status":             {"r1", "GET", instanceapi.PathStatus, "", 200, `"serving":"r1","servingSeconds":`},
		"metrics":            {"r1", "GET", instanceapi.PathMetrics, "", 200, "a_figure 0"},
		"the token":          {"r1", "POST", instanceapi.PathLoad, validToken, 202, "ok"},
		"another token":      {"r1", "POST", instanceapi.PathLoad, "shut", 403, "load token is invalid"},
		"no token":           {"r1", "POST", instanceapi.PathLoad, "", 403, "load token is invalid"},
		"more than a token":  {"r1", "POST", instanceapi.PathLoad, validToken + strings.Repeat(" ", instanceapi.MaxToken), 403, "load token is invalid"},
		"token by GET":       {"r1", "GET", instanceapi.PathLoad, "", 405, ""},
		"requests":           {"", "GET", instanceapi.PathRequests + "?seconds=60", "", 200, `"requests":2,"errors":1`},
		"requests of r1":     {"r1", "GET", instanceapi.PathRequests + "?seconds=60&revision=r1", "", 200, `{"revision":"r1","seconds":0,"requests":2,"errors":1`},
		"requests of r2":     {"r1", "GET", instanceapi.PathRequests + "?seconds=60&revision=r2", "", 200, `{"revision":"r2","seconds":0,"requests":0,"errors":0`},
		"requests, an hour":  {"", "GET", instanceapi.PathRequests + "?seconds=3600", "", 200, `"requests":2`},
		"requests by POST":   {"", "POST", instanceapi.PathRequests + "?seconds=60", "", 405, ""},
		"no seconds":         {"", "GET", instanceapi.PathRequests, "", 400, "from 1 to 3600"},
		"zero seconds":       {"", "GET", instanceapi.PathRequests + "?seconds=0", "", 400, "from 1 to 3600"},
		"too many seconds":   {"", "GET", instanceapi.PathRequests + "?seconds=3601", "", 400, "from 1 to 3600"},
		"seconds in letters": {"", "GET", instanceapi.PathRequests + "?seconds=ten", "", 400, "from 1 to 3600"},
		"overflow":           {"", "GET", instanceapi.PathRequests + "?seconds=99999999999999999999", "", 400, "from 1 to 3600"},
		"elsewhere":          {"r1", "GET", "/v1/else", "", 404, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, text := send(sources(t, tt.serving), tt.method, tt.path, tt.body)
			if code != tt.code || !strings.Contains(text, tt.want) {
				t.Errorf("%d %q, want %d with %q", code, text, tt.code, tt.want)
			}
		})
	}
}

// TestRequestsAreNotMeasured: without measurements, the path is answered like an unknown one.
func TestRequestsAreNotMeasured(t *testing.T) {
	s := sources(t, "r1")
	s.Recent = nil
	if code, text := send(s, "GET", instanceapi.PathRequests+"?seconds=60", ""); code != http.StatusNotFound {
		t.Errorf("%d %q", code, text)
	}
}

// TestTheWindowOnTheWire: the JSON form stays the same, because programs of other releases read it.
func TestTheWindowOnTheWire(t *testing.T) {
	_, text := send(sources(t, "r1"), "GET", instanceapi.PathRequests+"?seconds=60", "")
	var got struct {
		Seconds, Requests, Errors int64
		Latency                   []int64
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	// 10 ms are above 9.3 (1 ms · 1.25¹⁰) and below 11.6.
	if got.Requests != 2 || got.Errors != 1 || len(got.Latency) != 52 || got.Latency[11] != 1 {
		t.Errorf("the answer is %s", text)
	}
}

func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := Serve(t.Context(), address, http.NotFoundHandler()); err == nil {
		t.Fatal("a port that is taken was taken again")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := Serve(ctx, address, Handler(sources(t, "r1"))); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get("http://" + address + instanceapi.PathLive)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || string(text) != "ok\n" {
		t.Errorf("%q (%v)", text, err)
	}
	_ = response.Body.Close()
	cancel()
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server answers after its end")
		}
		time.Sleep(time.Millisecond)
	}
}
