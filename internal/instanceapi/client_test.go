package instanceapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clientOf returns a client of a pod that the handler stands for.
func clientOf(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := NewClient(5 * time.Second)
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != "192.0.2.1:9113" {
				t.Errorf("the client requests %s", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	client.http.Transport, client.orders.Transport = transport, transport
	return client
}

// says returns a handler that answers every request with the text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

const podIP = "192.0.2.1"

func TestClientRequests(t *testing.T) {
	want := RequestWindow{Seconds: 62, Requests: 1203, Errors: 3}
	want.Latency.Observe(.02, 1200)
	client := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.String() != "/v1/requests?seconds=60" {
			t.Errorf("the client requests %s %s", r.Method, r.URL)
		}
		_ = json.NewEncoder(w).Encode(want)
	})
	got, err := client.Requests(t.Context(), podIP, "", 60)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestClientRequestsRefuses(t *testing.T) {
	tests := map[string]struct {
		pod  http.HandlerFunc
		want string
	}{
		"unavailable":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "503"},
		"no JSON":         {says("hello"), "read the requests"},
		"negative":        {says(`{"requests": -1}`), "contradict"},
		"more errors":     {says(`{"requests": 1, "errors": 2}`), "contradict"},
		"negative errors": {says(`{"requests": 1, "errors": -1}`), "contradict"},
		"more latencies":  {says(`{"requests": 3, "errors": 1, "latency": [3]}`), "contradict"},
		"negative bucket": {says(`{"requests": 3, "latency": [4, -1]}`), "latency count is impossible"},
		"overflow":        {says(`{"requests": 9223372036854775807}`), "contradict"},
		"overflowing sum": {says(`{"requests": 2, "latency": [9223372036854775807, 9223372036854775807, 2]}`), "latency count is impossible"},
		"endless":         {says(strings.Repeat(" ", MaxOldAnswer+1)), "more than 1048576 bytes"},
		"elsewhere":       {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/else", http.StatusFound) }, "redirect"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := clientOf(t, tt.pod).Requests(t.Context(), podIP, "", 1)
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrNotSupported) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if got != (RequestWindow{}) {
				t.Errorf("%+v beside an error", got)
			}
		})
	}
}

// TestOlderInstance: an instance of a release that does not count requests is understood.
func TestOlderInstance(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathStatus, says(`{"protocol": 1, "serving": "r1", "ready": true}`))
	client := clientOf(t, mux.ServeHTTP)
	if _, err := client.Requests(t.Context(), podIP, "", 60); !errors.Is(err, ErrNotSupported) {
		t.Errorf("error %v, want ErrNotSupported", err)
	}
	status, err := client.Status(t.Context(), podIP)
	if err != nil || status.Serving != "r1" || status.ServingSeconds != nil {
		t.Errorf("status %+v (%v), want one without seconds", status, err)
	}
}

// TestNewerInstance: fields that this release does not know are ignored.
func TestNewerInstance(t *testing.T) {
	text := `{"protocol": 1, "serving": "r1", "servingSeconds": 0, "mood": "good", "workers": {"running": 2, "sleeping": 1}, "requests": 3, "latency": [1, 2` + strings.Repeat(", 0", 60) + `]}`
	client := clientOf(t, says(text))
	status, err := client.Status(t.Context(), podIP)
	if err != nil || status.Workers.Running != 2 || status.ServingSeconds == nil || *status.ServingSeconds != 0 {
		t.Errorf("status %+v (%v)", status, err)
	}
	window, err := client.Requests(t.Context(), podIP, "", 60)
	if err != nil || window.Latency.Count() != 3 {
		t.Errorf("window %+v (%v)", window, err)
	}
}

func TestProtocolRange(t *testing.T) {
	for text, want := range map[string]string{
		`{"protocol": 1}`: "",
		`{"protocol": 0}`: "the instance speaks protocol 0, this operator speaks 1",
		`{"protocol": 2}`: "the instance speaks protocol 2, this operator speaks 1",
		`{}`:              "the instance speaks protocol 0, this operator speaks 1",
	} {
		got := ""
		if _, err := clientOf(t, says(text)).Status(t.Context(), podIP); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: error %q, want %q", text, got, want)
		}
	}
	if got := spoken(2, 4); got != "2 to 4" {
		t.Errorf("a range is formatted as %q", got)
	}
}

func TestClientOrder(t *testing.T) {
	signed := sign(t, currentKey, nextOrder(receiver, requested), []byte("body"))
	client := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		got := SignedOrder{Order: r.Header.Get(HeaderOrder), Signature: r.Header.Get(HeaderSignature), Body: body}
		if diff := cmp.Diff(signed, got); err != nil || r.Method != http.MethodPost || r.URL.String() != "/v1/orders" || r.ContentLength != 4 || diff != "" {
			t.Errorf("the client requests %s %s (%v):\n%s", r.Method, r.URL, err, diff)
		}
		_, _ = io.WriteString(w, `{"protocol": 1, "serving": "r1"}`)
	})
	if status, err := client.Order(t.Context(), podIP, signed); err != nil || status.Serving != "r1" {
		t.Errorf("status %+v (%v)", status, err)
	}
}

// TestClientOrderRefused: a refusal is recognized, and whatever else a pod answers is not mistaken for one.
func TestClientOrderRefused(t *testing.T) {
	answers := func(code int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, tt := range map[string]struct {
		pod     http.HandlerFunc
		refusal Refusal
		want    string
	}{
		"replayed":      {answers(http.StatusConflict, "Replayed\n"), Replayed, "http://192.0.2.1:9113/v1/orders did not accept the order: Replayed"},
		"busy":          {answers(http.StatusServiceUnavailable, "Busy\n"), Busy, "Busy"},
		"unknown":       {answers(http.StatusConflict, "Bored\n"), "", "409"},
		"not known":     {answers(http.StatusNotFound, "404 page not found\n"), "", "404"},
		"no text":       {answers(http.StatusUnauthorized, ""), "", "401"},
		"no status":     {says("Replayed"), "", "read the status"},
		"protocol":      {says(`{"protocol": 99}`), "", "protocol 99"},
		"endless":       {says(strings.Repeat(" ", MaxOldAnswer+1)), "", "more than 1048576 bytes"},
		"endless error": {answers(http.StatusConflict, strings.Repeat(" ", MaxOldAnswer+1)), "", "409"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/else", http.StatusTemporaryRedirect)
		}, "", "redirect"},
	} {
		signed := sign(t, currentKey, nextOrder(receiver, requested), nil)
		status, err := clientOf(t, tt.pod).Order(t.Context(), podIP, signed)
		if err == nil || !strings.Contains(err.Error(), tt.want) || status.Protocol != 0 {
			t.Errorf("%s: status %+v (%v), want an error with %q", name, status, err, tt.want)
		}
		refused := &RefusedError{}
		if errors.As(err, &refused) != (tt.refusal != "") || refused.Refusal != tt.refusal {
			t.Errorf("%s: refused as %q, want %q", name, refused.Refusal, tt.refusal)
		}
	}
}

// TestClientWaitsForAnOrder: an order may take OrderWait longer than a request.
func TestClientWaitsForAnOrder(t *testing.T) {
	client := NewClient(time.Second)
	if client.http.Timeout != time.Second || client.orders.Timeout != time.Second+OrderWait {
		t.Errorf("requests time out after %s, orders after %s", client.http.Timeout, client.orders.Timeout)
	}
}
