package proxy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// TestUnknown: only an apply with the unknown field is refused.
func TestUnknown(t *testing.T) {
	behind := httptest.NewServer(&server{})
	t.Cleanup(behind.Close)
	p, err := Start(t.Context(), &rest.Config{Host: behind.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	g := p.NewClient("client")
	g.Unknown = `.spec.volumes[name="a"].emptyDir.mode`
	with, without := `{"spec":{"volumes":[{"name":"b"},{"name":"a","emptyDir":{"mode":1}}]}}`, `{"spec":{"mode":1,"volumes":[{"name":"a"}]}}`
	for i, tt := range []struct {
		kind    types.PatchType
		body    string
		refused bool
	}{{types.ApplyPatchType, with, true}, {types.ApplyPatchType, without, false}, {types.MergePatchType, with, false}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, g.URL+"/api/v1/namespaces/shop/pods/web", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", string(tt.kind))
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		var status struct{ Message string }
		if json.Unmarshal(said, &status) != nil || err != nil || (answer.StatusCode >= 500) != tt.refused || strings.HasSuffix(status.Message, g.Unknown+": field not declared in schema") != tt.refused {
			t.Error(i, answer.StatusCode, string(said))
		}
	}
}
