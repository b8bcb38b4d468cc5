package webhookserver

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestReviewLimits: bodies beyond the limits are refused before they are decoded, and one of the largest objects of an API
// server is not.
func TestReviewLimits(t *testing.T) {
	_, url, _ := serve(t.Context(), t, 0, func(w http.ResponseWriter, r *http.Request) {
		var review any
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	// HTTP/2, which API servers use.
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	object := func(content string) string {
		return `{"kind":"ConversionReview","request":{"uid":"a","objects":[` + content + `]}}`
	}
	for name, tt := range map[string]struct {
		body string
		code int
	}{
		"an object":           {object(`{"x":"` + strings.Repeat("A", 3<<20) + `"}`), 200},
		"120 MiB":             {object(`{"x":"` + strings.Repeat("A", 120<<20) + `"}`), 413},
		"empty objects":       {object(strings.Repeat("{},", 2<<20) + "{}"), 413},
		"empty items":         {object(`{"spec":{"content":[` + strings.Repeat("{},", 2<<20) + `{}]}}`), 413},
		"ten times the depth": {object(strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)), 413},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := client.Post(url, "application/json", struct{ io.Reader }{strings.NewReader(tt.body)})
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, response.Body)
			if err := errors.Join(err, response.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tt.code {
				t.Errorf("%s, want %d", response.Status, tt.code)
			}
		})
	}
}
