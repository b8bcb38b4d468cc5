package pods

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
)

// TestAnswersAreBounded: a pod cannot send the plugin ten times as many bytes as it may, in headers or in a body.
func TestAnswersAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 10*instanceapi.MaxAnswerHeader))
		case "/body":
			_, _ = w.Write(make([]byte, 10*MaxAnswer))
		}
	}))
	t.Cleanup(server.Close)
	forwarded := &http.Client{Transport: newTransport(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	})}
	for path, want := range map[string]string{"/": "", "/header": "header", "/body": "more than 4194304 bytes"} {
		_, _, err := send(t.Context(), forwarded, client.ObjectKey{Name: "web-1"}, http.MethodGet, path, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", path, err, want)
		}
	}
}
