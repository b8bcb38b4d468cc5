//go:build instance

package cache

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lockTimeout is how long a request waits for another one at most, if a fault makes it wait.
const lockTimeout = 15 * time.Second

// getAtOnce sends requests for a path at once, and returns the greatest number of them that the origin answered at once.
func (s *tiers) getAtOnce(t *testing.T, clients int, path string, headers func(client int) []string) (peak int) {
	t.Helper()
	name, _, _ := strings.Cut(path, "?")
	s.origin.takePeak(name)
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			var with []string
			if headers != nil {
				with = headers(client)
			}
			if got := s.get(t, path, with...); got.status != http.StatusOK {
				t.Errorf("client %d: the status is %d", client, got.status)
			}
		})
	}
	group.Wait()
	return s.origin.takePeak(name)
}

// TestNeverStored: requests for what is never stored do not wait for each other, except for the first ones.
func TestNeverStored(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, headers := range map[string][]string{
		"private":     {"Cache-Control", "private, max-age=0"},
		"a cookie":    {"Set-Cookie", "id=1"},
		"no lifetime": {"Cache-Control", "max-age=0"},
	} {
		path := with("/"+strings.ReplaceAll(name, " ", "-"), headers...)
		bodies := map[string]bool{}
		for range 2 {
			bodies[s.get(t, path).body] = true
		}
		s.origin.hold("/"+strings.ReplaceAll(name, " ", "-"), 0, 20)
		if n := s.getAtOnce(t, 20, path, nil); n != 20 || len(bodies) != 2 {
			t.Errorf("%s: the origin answered %d of 20 requests at once, and %d of 2 before", name, n, len(bodies))
		}
		if got := s.get(t, path).header.Get("Cache-Status"); !strings.Contains(got, "fwd=uri-miss; detail=hit-for-miss") {
			t.Errorf("%s: Cache-Status is %q", name, got)
		}
	}
}

// TestNeverStoredAtOnce: of many clients that request what is never stored, the first ones do not hold up all others.
func TestNeverStoredAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	// While the first ones are answered, the others wait.
	s.origin.hold("/a", 10, 90)
	begun := time.Now()
	if n := s.getAtOnce(t, 100, with("/a", "Cache-Control", "no-store", "delay", "1s"), nil); n < 90 || time.Since(begun) >= lockTimeout {
		t.Errorf("the origin answered %d of 100 requests at once, and all within %s", n, time.Since(begun))
	}
	if n := len(s.origin.received("/a")); n != 100 {
		t.Errorf("the origin received %d requests", n)
	}
}

// TestNeverStoredSteadily: at a steady rate, hardly any request for what is never stored waits. It logs how long they take.
func TestNeverStoredSteadily(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const sent, rate = 200, 20
	took := make([]time.Duration, sent)
	ticks := time.NewTicker(time.Second / rate)
	defer ticks.Stop()
	var group sync.WaitGroup
	for i := range took {
		<-ticks.C
		group.Go(func() {
			begun := time.Now()
			s.get(t, with("/a", "Cache-Control", "no-store", "delay", "100ms"))
			took[i] = time.Since(begun)
		})
	}
	group.Wait()
	slices.Sort(took)
	t.Logf("%d requests a second for what its origin answers after 100ms: median %s, 90 %% %s, maximum %s", rate, took[sent/2], took[sent*9/10], took[sent-1])
	if n := len(s.origin.received("/a")); n != sent || took[sent*9/10] >= lockTimeout/2 {
		t.Errorf("the origin received %d of %d requests, and one of ten took more than %s", n, sent, took[sent*9/10])
	}
}

// TestStoredAgain: what was not stored for a while is stored, and collapsed, as soon as its origin allows that.
func TestStoredAgain(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const path = "/a?delay=300ms"
	s.origin.setStatus("/a", http.StatusInternalServerError)
	for range 3 {
		s.get(t, path)
	}
	s.origin.setStatus("/a", http.StatusOK)
	first, second := s.get(t, path), s.get(t, path)
	if first.status != http.StatusOK || first.body != second.body {
		t.Errorf("%d %q, then %q (%s)", first.status, first.body, second.body, second.header.Get("Cache-Status"))
	}
	s.purge(t)
	if n := s.getAtOnce(t, 50, path, nil); n != 1 {
		t.Errorf("after a purge, the origin answered %d of 50 requests at once", n)
	}
}

// TestVariantsCollapse: the variants of an object cost its origin one request each.
func TestVariantsCollapse(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	encodings := []string{"gzip", "br", "zstd", "identity"}
	s.getAtOnce(t, 100, with("/a", "Vary", "Accept-Encoding", "delay", "300ms"), func(client int) []string {
		return []string{"Accept-Encoding", encodings[client%len(encodings)]}
	})
	if n := len(s.origin.received("/a")); n != len(encodings) {
		t.Errorf("the origin received %d requests for %d variants", n, len(encodings))
	}
}

// TestCollapseOfMany: many other objects that are requested change nothing, however long their URLs are.
func TestCollapseOfMany(t *testing.T) {
	t.Parallel()
	s := &tiers{origin: newOrigin(t), smallZones: true}
	s.start(t, declare(nil), map[string]string{"shard.test": freePorts(t, 1)[0]})
	for _, length := range []int{1, 200, 600, 1500, 3000, 2} {
		long := strings.Repeat("x", length)
		for n := range 200 {
			s.get(t, fmt.Sprintf("/%d/%d?%s", length, n, long))
		}
		for _, length := range []int{1, 200, 600, 1500, 3000} {
			name := fmt.Sprintf("/%d/%d", len(long), length)
			if n := s.getAtOnce(t, 10, fmt.Sprintf("%s?delay=100ms&x=%s", name, strings.Repeat("x", length)), nil); n != 1 {
				t.Errorf("after objects whose URLs have %d characters, the origin answered %d of 10 requests for one with %d at once", len(long), n, length)
			}
		}
	}
}

// TestSlowCollapse: clients wait for an object whose origin takes its time.
func TestSlowCollapse(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.getAtOnce(t, 50, "/a?pause=10s", nil)
	if n := len(s.origin.received("/a")); n != 1 {
		t.Errorf("the origin received %d requests", n)
	}
}

// TestNeverStoredSlices: the same for objects that would be stored in slices.
func TestNeverStoredSlices(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	body := object(bodySize, 1)
	path := with("/a", "Cache-Control", "no-store")
	s.origin.setFile("/a", file{etag: `"v1"`, body: body})
	for range 2 {
		s.wantPart(t, path, nil, http.StatusOK, body, 0, bodySize)
	}
	s.origin.hold("/a", 0, 20)
	begun := time.Now()
	if n := s.getAtOnce(t, 20, path, nil); n != 20 || time.Since(begun) >= lockTimeout {
		t.Errorf("the origin answered %d of 20 requests at once, and all within %s", n, time.Since(begun))
	}
	s.wantPart(t, path, nil, http.StatusOK, body, 0, bodySize)
	s.wantPart(t, path, []string{"Range", "bytes=70000-70009"}, http.StatusPartialContent, body, 70000, 70010)
}

// TestNeverStoredLong: a URL that does not fit in the header by which a shard asks is requested like any other.
func TestNeverStoredLong(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	path := with("/a", "Cache-Control", "no-store", "long", strings.Repeat("x", 7000))
	for range 3 {
		if got := s.get(t, path, "User-Agent", strings.Repeat("y", 7000)); got.status != http.StatusOK {
			t.Errorf("the status is %d", got.status)
		}
	}
}

// TestNeverStoredElsewhere: a shard that stores nothing, or that another one asks, has nothing of what is never stored, either.
func TestNeverStoredElsewhere(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	path := with("/a", "Cache-Control", "no-store")
	for range 3 {
		before.get(t, path)
	}
	bodies := map[string]bool{}
	for range 3 {
		got := after.get(t, path)
		bodies[got.body] = got.status == http.StatusOK
	}
	must(t, os.WriteFile(after.closed, nil, 0o644))
	got := after.get(t, path)
	bodies[got.body] = got.status == http.StatusOK
	if len(bodies) != 4 {
		t.Errorf("the answers are %v", bodies)
	}
	for body, ok := range bodies {
		if !ok {
			t.Errorf("%q failed", body)
		}
	}
}

// TestNeverStoredMetrics: an answer that is not stored counts as a miss, whether its request has waited or not.
func TestNeverStoredMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	shard := count(t, s.logs[0])
	for range 5 {
		s.get(t, with("/a", "Cache-Control", "no-store"))
	}
	poll().Eventually(t, "all requests were counted", func() error {
		if diff := cmp.Diff(map[string]float64{"miss origin default": 5}, shard().of("nginx_cache_requests_total")); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
}

// TestLockedHeaderOfClients: the header that a shard sends to its gateway is not taken from clients.
func TestLockedHeaderOfClients(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, headers := range [][]string{nil, {"Cookie", "a=b"}} {
		for range 3 {
			if got := s.get(t, with("/a", "Cache-Control", "no-store"), append(headers, "X-Cache-Locked", "@none x")...); got.status != http.StatusOK {
				t.Errorf("the status is %d", got.status)
			}
		}
	}
	for _, r := range s.origin.received("/a") {
		if got := r.Header.Get("X-Cache-Locked"); got != "" {
			t.Errorf("the origin received %q", got)
		}
	}
}
