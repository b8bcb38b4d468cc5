package apply

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEscape: escaped JSON with any character of Unicode's first plane is read back unchanged as
// YAML.
func TestEscape(t *testing.T) {
	for c := rune(0); c <= 0xffff; c++ {
		if c >= 0xd800 && c < 0xe000 {
			continue // Surrogates are not characters.
		}
		text, err := json.Marshal(map[string]string{"a": "x" + string(c) + "y", "k" + string(c): ""})
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]string{}
		if err := yaml.Unmarshal(escapeForYAML(text), &read); err != nil || read["a"] != "x"+string(c)+"y" || len(read) != 2 {
			t.Fatalf("%U is read as %q: %v", c, read, err)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestEscaping(t *testing.T) {
	for content, want := range map[string]string{"application/apply-patch+yaml": "{\"a\":\"\\u007f\"}", "application/json": "{\"a\":\"\x7f\"}"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "https://example.com", strings.NewReader("{\"a\":\"\x7f\"}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", content)
		_, err = NewTransport(transport(func(r *http.Request) (*http.Response, error) {
			again, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			for _, body := range []io.Reader{r.Body, again} {
				if text, err := io.ReadAll(body); err != nil || string(text) != want || r.ContentLength != int64(len(want)) {
					t.Errorf("%s: %q of %d bytes is sent: %v", content, text, r.ContentLength, err)
				}
			}
			return nil, nil
		})).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
	}
}
