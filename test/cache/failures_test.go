//go:build instance

package cache

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/nginx-operator/internal/cache/cacheconf"
)

// startTwo starts an edge with two shards, which are the same nginx: an edge never takes its only shard for away.
func startTwo(t *testing.T, s *tiers) *tiers {
	t.Helper()
	in, port := declare(nil), freePorts(t, 1)[0]
	in.Shards = cacheconf.Peers{"one.test", "two.test"}
	s.origin = newOrigin(t)
	s.start(t, in, map[string]string{"one.test": port, "two.test": port})
	return s
}

// wantShards checks that the edge has not taken its shards for away.
func (s *tiers) wantShards(t *testing.T, path string) {
	t.Helper()
	if got := s.get(t, path); !strings.Contains(got.header.Get("Cache-Status"), "one.test; ") {
		t.Errorf("no shard answers for %s: %d (%s)", path, got.status, got.header.Get("Cache-Status"))
	}
}

// TestLargeHeaders: an answer whose headers are too large is passed on or fails, and no shard is taken for away because of it.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	s := startTwo(t, &tiers{})
	for _, long := range []int{0, 7000} {
		for large := 22_000; large < 34_000; large += 200 {
			name := fmt.Sprintf("/%d/%d", long, large)
			got := s.get(t, fmt.Sprintf("%s?large=%d&long=%s", name, large, strings.Repeat("x", long)))
			if want := http.StatusOK; got.status != want && (large < 32_000 || got.status != http.StatusBadGateway) {
				t.Errorf("a header of %d bytes, and %d in the key: the status is %d", large, long, got.status)
			}
			if n := len(s.origin.received(name)); n != 1 {
				t.Errorf("a header of %d bytes, and %d in the key: the origin received %d requests", large, long, n)
			}
			s.wantShards(t, "/other"+name)
		}
	}
}

// TestSlowOrigin: the origin gets no request twice because it does not answer in time, and no shard is taken for away then. Some
// of the clients wait for another one first.
func TestSlowOrigin(t *testing.T) {
	t.Parallel()
	s := startTwo(t, &tiers{hurried: true})
	const clients = 5
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			if got := s.get(t, "/a?delay=30s"); got.status != http.StatusGatewayTimeout {
				t.Errorf("the status is %d", got.status)
			}
		})
	}
	group.Wait()
	if n := len(s.origin.received("/a")); n > clients {
		t.Errorf("the origin received %d requests of %d clients", n, clients)
	}
	s.wantShards(t, "/other")
}

// TestBrokenAnswers: whatever an origin sends, no shard is taken for away because of it, and the origin gets no request twice.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	s := startTwo(t, &tiers{})
	const ok, chunked = "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n\r\n"
	for name, raw := range map[string]string{
		"a chunk of no length":  ok + chunked + "zz\r\na\r\n0\r\n\r\n",
		"a chunk that is huge":  ok + chunked + "ffffffffffffffffff\r\na",
		"a chunk that ends":     ok + chunked + "5\r\na",
		"no last chunk":         ok + chunked + "1\r\na\r\n",
		"a body that ends":      ok + "Content-Length: 10\r\n\r\na",
		"two lengths":           ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\na",
		"a length and chunks":   ok + "Content-Length: 1\r\n" + chunked + "1\r\na\r\n0\r\n\r\n",
		"a header with a zero":  ok + "X: a\x00b\r\n\r\na",
		"a header in two lines": ok + "X: a\r\n b\r\n\r\na",
	} {
		path := "/" + strings.ReplaceAll(name, " ", "-")
		for range 2 {
			_, _ = s.try(t, http.MethodGet, with(path, "raw", raw)) // It may break off.
			s.wantShards(t, fmt.Sprintf("/other%s/%d", path, len(s.origin.received(path))))
		}
		if n := len(s.origin.received(path)); n != 2 {
			t.Errorf("%s: the origin received %d requests instead of 2", name, n)
		}
	}
}

// TestOwnStatuses: an answer with a status that the caches use among themselves is passed on like any other.
func TestOwnStatuses(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	for _, status := range []int{303, 418, 419, 420, 421, 430, 432, 444} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			name := fmt.Sprintf("/%s/%d", method, status)
			s.origin.setStatus(name, status)
			if got := s.send(t, method, name); got.status != status || len(s.origin.received(name)) != 1 {
				t.Errorf("%s: the status is %d, and the origin received %d requests", name, got.status, len(s.origin.received(name)))
			}
		}
	}
}
