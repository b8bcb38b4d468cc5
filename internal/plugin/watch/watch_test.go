package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// object is what the tests follow.
type object struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

// event returns a line of a watch.
func event(kind, name, version string, annotations ...string) string {
	marks := map[string]string{}
	for _, a := range annotations {
		marks[a] = "true"
	}
	line, err := json.Marshal(map[string]any{"type": kind, "object": map[string]any{"metadata": map[string]any{
		"name": name, "resourceVersion": version, "annotations": marks,
	}}})
	if err != nil {
		panic(err)
	}
	return string(line) + "\n"
}

const initialEnd = "k8s.io/initial-events-end"

// server answers with one script after another, and records the queries.
type server struct {
	mu      sync.Mutex
	scripts []func(http.ResponseWriter)
	queries []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.queries = append(s.queries, r.URL.RawQuery)
	if len(s.scripts) == 0 {
		s.mu.Unlock()
		<-r.Context().Done()
		return
	}
	script := s.scripts[0]
	s.scripts = s.scripts[1:]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	script(w)
}

func body(lines ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = w.Write([]byte(strings.Join(lines, ""))) }
}

func status(code int, reason string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":%q,"code":%d}`, reason, code)
	}
}

// follow follows until enough calls of the handler were made, or the API server refuses.
func follow(t *testing.T, s *server, calls int) ([]string, error) {
	t.Helper()
	api := httptest.NewServer(s)
	defer api.Close()
	client, err := rest.UnversionedRESTClientFor(&rest.Config{Host: api.URL, QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []string
	note := func(what string) {
		if seen = append(seen, what); len(seen) == calls {
			cancel()
		}
	}
	err = Follow(ctx, client, Resource{Path: "/api/v1/things", Labels: "a=b"}, Handler[object]{
		Key:    func(o *object) string { return o.Metadata.Name },
		Put:    func(o *object) { note("put " + o.Metadata.Name) },
		Gone:   func(key string) { note("gone " + key) },
		Synced: func() { note("synced") },
		Lost:   func(error) { note("lost") },
	})
	return seen, err
}

func TestFollow(t *testing.T) {
	initial := event("ADDED", "a", "1") + event("ADDED", "b", "2") + event("BOOKMARK", "", "5", initialEnd)
	for name, tt := range map[string]struct {
		scripts []func(http.ResponseWriter)
		want    []string
		// queries are parts of the queries, in order.
		queries []string
	}{
		"streamed": {
			[]func(http.ResponseWriter){body(initial, event("MODIFIED", "a", "6"), event("DELETED", "b", "7")), body(event("ADDED", "c", "8"))},
			[]string{"put a", "put b", "synced", "put a", "gone b", "put c"},
			[]string{"sendInitialEvents=true", "resourceVersion=7"},
		},
		"listed in pages": {
			[]func(http.ResponseWriter){
				status(http.StatusUnprocessableEntity, "Invalid"),
				body(`{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"a"}}]}`),
				body(`{"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"b"}}]}`),
				body(event("MODIFIED", "b", "10")),
			},
			[]string{"put a", "put b", "synced", "put b"},
			[]string{"sendInitialEvents=true", "limit=500", "continue=more", "resourceVersion=9"},
		},
		"a bookmark moves on": {
			[]func(http.ResponseWriter){body(initial, event("BOOKMARK", "", "20")), body(event("DELETED", "a", "21"))},
			[]string{"put a", "put b", "synced", "gone a"},
			[]string{"sendInitialEvents=true", "resourceVersion=20"},
		},
		"expired: what is gone meanwhile is gone": {
			[]func(http.ResponseWriter){
				body(initial), body(`{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}` + "\n"),
				body(event("ADDED", "b", "30"), event("BOOKMARK", "", "31", initialEnd)),
			},
			[]string{"put a", "put b", "synced", "put b", "gone a", "synced"},
			[]string{"sendInitialEvents=true", "resourceVersion=5", "sendInitialEvents=true"},
		},
		"interrupted": {
			[]func(http.ResponseWriter){body(initial), status(http.StatusInternalServerError, "InternalError"), body(event("MODIFIED", "a", "6"))},
			[]string{"put a", "put b", "synced", "lost", "synced", "put a"},
			[]string{"sendInitialEvents=true", "resourceVersion=5", "resourceVersion=5"},
		},
		"cut before the end": {
			[]func(http.ResponseWriter){body(event("ADDED", "a", "1")), body(initial)},
			[]string{"put a", "lost", "put a", "put b", "synced"},
			[]string{"sendInitialEvents=true", "sendInitialEvents=true"},
		},
		"no JSON": {
			[]func(http.ResponseWriter){body("<html>\n"), body(initial)},
			[]string{"lost", "put a", "put b", "synced"},
			[]string{"sendInitialEvents=true", "sendInitialEvents=true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{scripts: tt.scripts}
			seen, err := follow(t, s, len(tt.want))
			if diff := cmp.Diff(tt.want, seen); err != nil || diff != "" {
				t.Errorf("%v; -want +got:\n%s", err, diff)
			}
			for i, part := range tt.queries {
				if i >= len(s.queries) || !strings.Contains(s.queries[i], part) || !strings.Contains(s.queries[i], "labelSelector=a%3Db") {
					t.Errorf("query %d lacks %s: %q", i, part, s.queries)
				}
			}
			for _, query := range s.queries {
				if strings.Contains(query, "watch=true") != strings.Contains(query, "timeoutSeconds=600") {
					t.Errorf("a watch has no end: %s", query)
				}
			}
		})
	}
}

// TestFollowRefused: a request that would be refused again is not repeated.
func TestFollowRefused(t *testing.T) {
	for _, tt := range []struct {
		code   int
		reason string
		is     func(error) bool
	}{
		{http.StatusForbidden, "Forbidden", apierrors.IsForbidden},
		{http.StatusNotFound, "NotFound", apierrors.IsNotFound},
		{http.StatusUnauthorized, "Unauthorized", apierrors.IsUnauthorized},
	} {
		s := &server{scripts: []func(http.ResponseWriter){status(tt.code, tt.reason)}}
		seen, err := follow(t, s, 1)
		if !tt.is(err) || len(seen) > 0 || len(s.queries) != 1 {
			t.Errorf("%s: %v, %q, %d requests", tt.reason, err, seen, len(s.queries))
		}
	}
}

// TestFollowEnds: a context that ends is no error.
func TestFollowEnds(t *testing.T) {
	seen, err := follow(t, &server{scripts: []func(http.ResponseWriter){body(event("ADDED", "a", "1"))}}, 1)
	if err != nil || errors.Is(err, context.Canceled) || !slices.Equal(seen, []string{"put a"}) {
		t.Errorf("%v, %q", err, seen)
	}
}
