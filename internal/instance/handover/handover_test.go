package handover

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// object writes a file as nginx does, which is fresh until a time, and returns its path.
func object(t *testing.T, dir string, n int, key string, fresh time.Time, headers ...string) string {
	t.Helper()
	head := make([]byte, 336)
	text := "\nKEY: " + key + "\n"
	header := "HTTP/1.1 200 OK\r\n" + strings.Join(append(headers, "\r\n"), "\r\n")
	binary.LittleEndian.PutUint64(head, 5)
	binary.LittleEndian.PutUint64(head[8:], uint64(fresh.Unix())) //nolint:gosec // after 1970
	binary.LittleEndian.PutUint16(head[54:], uint16(len(head)+len(text)))
	binary.LittleEndian.PutUint16(head[56:], uint16(len(head)+len(text)+len(header)))
	path := filepath.Join(dir, "0", "0"+fmt.Sprint(n%10), fmt.Sprintf("%032d", n))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(string(head)+text+header), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// others stands for the nginx that passes requests on.
type others struct {
	mu       sync.Mutex
	requests []string
	status   int
}

func (o *others) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = append(o.requests, fmt.Sprintf("%s %s://%s%s", r.Method, r.Header.Get("X-Forwarded-Proto"), r.Host, r.RequestURI))
	w.WriteHeader(o.status)
}

func start(t *testing.T, status int) (*others, string) {
	t.Helper()
	o := &others{status: status}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	return o, server.Listener.Addr().String()
}

// TestEnd: each object that is fresh is requested as its client has requested it.
func TestEnd(t *testing.T) {
	dir, later := t.TempDir(), time.Now().Add(time.Hour)
	object(t, dir, 1, "/g/1.2 http://a.test/x%2Fy?b=%20c", later)
	object(t, dir, 2, "/g/1.2 /g/3.4 https://b.test:8443/", later)
	object(t, dir, 3, "/g/1.2 bytes=0-1048575 http://a.test/large", later)
	object(t, dir, 4, "/g/1.2 http://a.test/expired", time.Now().Add(-time.Second))
	object(t, dir, 5, "/g/1.2 http://a.test//another.test/", later)
	if err := os.WriteFile(object(t, dir, 6, "", later), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	object(t, dir, 7, "/g/1.2 http://a.test/copy", later, "Server: x", "X-Cache-Ending: front-shards-2")
	o, address := start(t, http.StatusMovedPermanently)
	Shard{Dir: dir, Address: address, Ending: filepath.Join(t.TempDir(), "ending")}.End(t.Context(), time.Minute)
	slices.Sort(o.requests)
	want := []string{"HEAD http://a.test/x%2Fy?b=%20c", "HEAD https://b.test:8443/"}
	if diff := cmp.Diff(want, o.requests); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGive: the hand-over ends when the others take nothing, and when its time is over.
func TestGive(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for n := range 5 * maxRefused {
		files = append(files, object(t, dir, n, fmt.Sprintf("/g/1.2 http://a.test/%d", n), time.Now().Add(time.Hour)))
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name     string
		ctx      context.Context
		status   int
		want     error
		requests func(n int) bool
	}{
		{"all are taken", t.Context(), http.StatusOK, nil, func(n int) bool { return n == len(files) }},
		{"all were purged", t.Context(), http.StatusSeeOther, nil, func(n int) bool { return n == len(files) }},
		{"the others have no room", t.Context(), http.StatusServiceUnavailable, errRefused, func(n int) bool { return n >= maxRefused && n < maxRefused+parallel }},
		{"the time is over", over, http.StatusOK, context.Canceled, func(n int) bool { return n == 0 }},
	} {
		o, address := start(t, tt.status)
		g := newGiver(address)
		if err := g.give(tt.ctx, files); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if n := len(o.requests); !tt.requests(n) {
			t.Errorf("%s: %d requests", tt.name, n)
		}
	}
}

// TestNewestFirst: what was stored last is handed over first.
func TestNewestFirst(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	var want []string
	for n := range 5 {
		path := object(t, dir, n, "", now)
		at := now.Add(-time.Duration(n*7%5) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		want = append(want, path)
	}
	slices.SortFunc(want, func(a, b string) int {
		one, _ := os.Stat(a)
		two, _ := os.Stat(b)
		return two.ModTime().Compare(one.ModTime())
	})
	if diff := cmp.Diff(want, newestFirst(t.Context(), dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNoShard: where nothing listens, nothing is handed over.
func TestNoShard(t *testing.T) {
	_, address := start(t, http.StatusOK)
	if listens(t.Context(), address) != true {
		t.Error("it does not listen")
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	if listens(t.Context(), closed.Listener.Addr().String()) {
		t.Error("it listens")
	}
}
