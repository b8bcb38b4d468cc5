package main

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

	"example.com/nginx-operator/test/load"
)

// TestRun: the HTTP API controls a run, with this command as the backend.
func TestRun(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(echo))
	defer backend.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options := load.Options{
		Targets: []string{backend.Listener.Addr().String()},
		Clients: []load.Clients{{Method: "POST", BodyBytes: 3000, KeepAlive: true, Expect: "POST {length} {sum}\n"}},
		Rate:    200,
	}
	var out strings.Builder
	ended := make(chan error, 1)
	go func() { ended <- run(t.Context(), listener, options, &out) }()

	url := "http://" + listener.Addr().String()
	if status, _ := request(t, "POST", url+"/v1/submit?revision=1"); status != http.StatusNoContent {
		t.Errorf("submitting a revision gives %d", status)
	}
	if status, _ := request(t, "POST", url+"/v1/submit"); status != http.StatusBadRequest {
		t.Errorf("submitting nothing gives %d", status)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, report := request(t, "GET", url+"/v1/report"); report.Requests > 10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("there are no requests")
		}
	}
	_, report := request(t, "POST", url+"/v1/stop")
	if report.Failed != 0 || report.Ended.IsZero() {
		t.Errorf("the report is %v", report)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var printed load.Report
	if err := json.Unmarshal([]byte(out.String()), &printed); err != nil || printed.Requests != report.Requests {
		t.Errorf("printed was %q: %v", out.String(), err)
	}
}

func request(t *testing.T, method, url string) (int, load.Report) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var report load.Report
	if strings.HasPrefix(string(text), "{") {
		if err := json.Unmarshal(text, &report); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return response.StatusCode, report
}

// TestStopped: the end of the context, as after a signal, ends a run.
func TestStopped(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	options := load.Options{Targets: []string{listener.Addr().String()}, Clients: []load.Clients{{}}}
	if err := run(ctx, listener, options, &out); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), `"requests":0`) {
		t.Errorf("printed was %q", out.String())
	}
}
