package workers

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestWrites: a write that hangs ends with a reason, a read lasts as long as it takes, and an answer is read whole.
func TestWrites(t *testing.T) {
	held := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, "done") // the client may be gone
	}))
	defer server.Close()
	client := &http.Client{Transport: boundedWrites{http.DefaultTransport, 50 * time.Millisecond}}
	send := func(method, path string) (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	}
	_, err := send(http.MethodPatch, "/hangs")
	if err == nil || !strings.Contains(err.Error(), "the API server did not answer within 50ms") {
		t.Errorf("a write that hangs: %v", err)
	}
	read := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		_, err := send(http.MethodGet, "/hangs")
		read <- err
	}()
	select {
	case <-ctx.Done():
		t.Error("a read was ended as well")
	case <-time.After(200 * time.Millisecond):
	}
	close(held)
	if err := <-read; err != nil {
		t.Errorf("a read that lasts: %v", err)
	}
}
