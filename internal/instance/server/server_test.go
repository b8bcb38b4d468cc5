package server

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/nginx-operator/internal/instance/health"
	"example.com/nginx-operator/internal/instance/orders"
	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/supervise"
	"example.com/nginx-operator/internal/instance/window"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

var (
	key     = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	trusted = instanceapi.Trust{
		Application: instanceapi.Application{Namespace: "shop", Name: "web", UID: "u1"},
		Keys:        []instanceapi.PublicKey{instanceapi.NewPublicKey(key.Public().(ed25519.PublicKey))},
	}
)

// supervisor stands for a supervisor that carries out an order when it is awaited.
type supervisor struct {
	snapshot *supervise.Snapshot
	// ordered is what was ordered, and contents came with it.
	ordered  []instanceapi.Requested
	contents instanceapi.Contents
	// deadline is until when the order was awaited.
	deadline time.Time
}

// Order implements Supervisor.
func (s *supervisor) Order(order instanceapi.Order, contents instanceapi.Contents) instanceapi.Refusal {
	s.ordered, s.contents = append(s.ordered, order.Requested), contents
	return ""
}

// Await implements Supervisor.
func (s *supervisor) Await(ctx context.Context, requested instanceapi.Requested) {
	s.deadline, _ = ctx.Deadline()
	s.snapshot.Status.Requested, s.snapshot.Status.Serving = requested, requested.Load
}

// ServedConfig implements Supervisor.
func (s *supervisor) ServedConfig(context.Context) (instanceapi.ServedConfig, error) {
	return instanceapi.ServedConfig{Revision: "r1", Files: instanceapi.ConfigFiles{"site.conf": []byte("server {}")}}, nil
}

// TestConfig implements Supervisor.
func (s *supervisor) TestConfig(_ context.Context, user map[string]string) (instanceapi.ConfigTest, error) {
	if _, busy := user["busy.conf"]; busy {
		return instanceapi.ConfigTest{}, supervise.ErrBusy
	}
	return instanceapi.ConfigTest{Revision: nginxconf.Revision(user), Test: instanceapi.Passed}, nil
}

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
	recent.Count([]byte("r1"), window.Answer{Status: 200, Seconds: .01})
	recent.Count([]byte("r1"), window.Answer{Status: 502, Seconds: .01})
	return Sources{
		Doctor:  &health.Doctor{Snapshot: func() *supervise.Snapshot { return snapshot }, Failing: func() string { return "" }, Sockets: proc.FS(t.TempDir()), Proc: proc.FS(t.TempDir())},
		Metrics: registry, Recent: recent,
		Orders:     orders.NewReceiver("p1", func() instanceapi.Trust { return trusted }),
		Supervisor: &supervisor{snapshot: snapshot},
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
		"orders in a status": {"r1", "GET", instanceapi.PathStatus, "", 200, `"orders":{"application":{"namespace":"shop","name":"web","uid":"u1"},"podUID":"p1","process":"`},
		"no order":           {"r1", "POST", instanceapi.PathOrders, "", 401, "Unsigned"},
		"order in the body":  {"r1", "POST", instanceapi.PathOrders, `{"requested":{"load":"r2"}}`, 401, "Unsigned"},
		"order by GET":       {"r1", "GET", instanceapi.PathOrders, "", 405, ""},
		"order by PUT":       {"r1", "PUT", instanceapi.PathOrders, "", 405, ""},
		"the former path":    {"r1", "POST", "/v1/load", "open", 404, ""},
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

// sendOrder sends the next order with a body.
func sendOrder(t *testing.T, s Sources, change func(*instanceapi.Order), body []byte) (int, string) {
	t.Helper()
	order := s.Orders.Describe().Next(instanceapi.Requested{Test: "r2", Load: "r2"}, time.Now())
	change(&order)
	signed, err := instanceapi.Sign(key, order, body)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, instanceapi.PathOrders, bytes.NewReader(body))
	request.Header.Set(instanceapi.HeaderOrder, signed.Order)
	request.Header.Set(instanceapi.HeaderSignature, signed.Signature)
	recorder := httptest.NewRecorder()
	Handler(s).ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}

// TestOrder: the response to an order is the status after the supervisor has carried it out.
func TestOrder(t *testing.T) {
	s := sources(t, "r1")
	files := map[string]string{"site.conf": "server {}"}
	contents := instanceapi.Contents{nginxconf.Revision(files): files}
	body, err := instanceapi.EncodeContents(contents)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	code, text := sendOrder(t, s, func(*instanceapi.Order) {}, body)
	var status instanceapi.Status
	if err := json.Unmarshal([]byte(text), &status); code != http.StatusOK || err != nil {
		t.Fatalf("%d %q (%v)", code, text, err)
	}
	if status.Serving != "r2" || status.Orders == nil || status.Orders.Number <= 0 {
		t.Errorf("status %+v", status)
	}
	got := s.Supervisor.(*supervisor)
	if diff := cmp.Diff(contents, got.contents); diff != "" || len(got.ordered) != 1 || got.ordered[0] != status.Requested {
		t.Errorf("ordered %+v, contents -want +got:\n%s", got.ordered, diff)
	}
	if wait := got.deadline.Sub(start); wait < instanceapi.OrderWait || wait > instanceapi.OrderWait+time.Second {
		t.Errorf("it waits %s", wait)
	}
}

// TestRefusedOrder: an order that is not accepted is answered with the reason, and does not reach the supervisor.
func TestRefusedOrder(t *testing.T) {
	for want, change := range map[instanceapi.Refusal]func(*instanceapi.Order){
		instanceapi.Foreign:   func(o *instanceapi.Order) { o.PodUID = "p2" },
		instanceapi.Replayed:  func(o *instanceapi.Order) { o.Number = 0 },
		instanceapi.Expired:   func(o *instanceapi.Order) { o.Expires = -1 },
		instanceapi.Oversized: func(o *instanceapi.Order) { o.Body = &instanceapi.Body{Size: instanceapi.MaxBody + 1} },
		instanceapi.BadBody:   func(o *instanceapi.Order) { o.Body = &instanceapi.Body{Size: 1} },
	} {
		s := sources(t, "r1")
		code, text := sendOrder(t, s, change, nil)
		if code != want.Code() || text != string(want)+"\n" || len(s.Supervisor.(*supervisor).ordered) > 0 {
			t.Errorf("%s: %d %q", want, code, text)
		}
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
