package manager

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
)

// TestPodClientIsBounded: the pod of a job cannot send the operator ten times as many bytes of headers as it may.
func TestPodClientIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 10*instanceapi.MaxAnswerHeader))
	}))
	t.Cleanup(server.Close)
	response, err := podClient().Get(server.URL)
	if err == nil {
		_ = response.Body.Close()
		t.Error("the answer is accepted")
	}
}
