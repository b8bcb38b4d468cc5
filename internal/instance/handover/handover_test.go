package handover

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
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
	l := listed{name: md5.Sum([]byte(strconv.Itoa(n)))}
	path := l.path(dir)
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
	// other stands for another server.
	other bool
}

func (o *others) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = append(o.requests, fmt.Sprintf("%s %s://%s%s", r.Method, r.Header.Get("X-Forwarded-Proto"), r.Host, r.RequestURI))
	if !o.other {
		w.Header().Set(instanceapi.HeaderCacheEnding, "front-shards-0")
	}
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
	Shard{Dir: dir, Address: address, Ending: filepath.Join(t.TempDir(), "ending"), Verify: func() error { return nil }}.End(t.Context())
	slices.Sort(o.requests)
	want := []string{"HEAD http://a.test/x%2Fy?b=%20c", "HEAD https://b.test:8443/"}
	if diff := cmp.Diff(want, o.requests); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGive: the hand-over ends when the others take nothing, when there is nothing to give, and when its time is over.
func TestGive(t *testing.T) {
	dir := t.TempDir()
	const objects = maxUnknown + 200
	for n := range objects {
		object(t, dir, n, fmt.Sprintf("/g/1.2 http://a.test/%d", n), time.Now().Add(time.Hour))
	}
	list, complete := newestFirst(t.Context(), dir)
	if len(list) != objects || !complete {
		t.Fatalf("of %d objects, the list has %d; all: %v", objects, len(list), complete)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		status int
		other  bool
		want   error
		least  int
	}{
		{"all are taken", t.Context(), http.StatusOK, false, nil, objects},
		{"all were purged", t.Context(), http.StatusSeeOther, false, errUnknown, maxUnknown},
		{"the others have no room", t.Context(), http.StatusServiceUnavailable, false, errRefused, maxRefused},
		{"another server listens", t.Context(), http.StatusOK, true, errRefused, maxRefused},
		{"the time is over", over, http.StatusOK, false, context.Canceled, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, address := start(t, tt.status)
			o.other = tt.other
			if err := newGiver(address).give(tt.ctx, dir, list); !errors.Is(err, tt.want) {
				t.Errorf("it ends with %v", err)
			}
			if n := len(o.requests); n < tt.least || n >= tt.least+maxRefused*parallel {
				t.Errorf("%d requests, want about %d", n, tt.least)
			}
		})
	}
}

// TestNewestFirst: what was stored last is handed over first, and what nginx still writes is left out.
func TestNewestFirst(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	var want []string
	for n := range 5 {
		path := object(t, dir, n, "", now)
		at := now.Add(-time.Duration(n) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		want = append(want, path)
	}
	if err := os.WriteFile(want[0]+".0000000001", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, _ := newestFirst(t.Context(), dir)
	var got []string
	for _, l := range list {
		got = append(got, l.path(dir))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, complete := newestFirst(over, dir); complete {
		t.Error("a list that was not read to its end counts as complete")
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

// TestUnknownPurges: a shard that does not know what was purged hands nothing over.
func TestUnknownPurges(t *testing.T) {
	dir := t.TempDir()
	object(t, dir, 1, "/g/1.2 http://a.test/a", time.Now().Add(time.Hour))
	o, address := start(t, http.StatusOK)
	Shard{Dir: dir, Address: address, Ending: filepath.Join(t.TempDir(), "ending"), Verify: func() error { return errors.New("it is damaged") }}.End(t.Context())
	if len(o.requests) > 0 {
		t.Errorf("it has requested %v", o.requests)
	}
}
