//go:build instance

package cache

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/instanceapi"
)

// handOver starts two shards, each with an edge of its own: before owns all objects in the previous ring, and after in
// the present one.
func handOver(t *testing.T, change func(*v1alpha1.NginxCacheSpec)) (before, after *tiers) {
	t.Helper()
	free := freePorts(t, 2)
	ports := map[string]string{"before.test": free[0], "after.test": free[1]}
	in, origin := declare(change), newOrigin(t)
	in.Shards, in.Previous = cacheconf.Peers{"before.test"}, cacheconf.Peers{"before.test"}
	before = startTiers(t, origin, in, ports)
	in.Shards = cacheconf.Peers{"after.test"}
	return before, startTiers(t, origin, in, ports)
}

// TestHandOver: what the previous owner has stored comes from there, as its origin has said it.
func TestHandOver(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	path := with("/a", "Cache-Control", "public, max-age=60", "Etag", `"1"`, "Date", "Thu, 31 Dec 2020 23:55:55 GMT", "Server", "x")
	stored := before.get(t, path)
	poll().Eventually(t, "a second has passed", func() error {
		if age := before.get(t, path).header.Get("Age"); age == "0" {
			return fmt.Errorf("the age is %s", age)
		}
		return nil
	})
	moved := after.get(t, path)
	if moved.body != stored.body {
		t.Errorf("%q, then %q (%s)", stored.body, moved.body, moved.header.Get("Cache-Status"))
	}
	if got := moved.header.Get("Cache-Status"); !strings.Contains(got, "; hit, ") || strings.Count(got, "fwd=uri-miss") != 2 {
		t.Errorf("Cache-Status is %q", got)
	}
	if age, err := strconv.Atoi(moved.header.Get("Age")); err != nil || age < 1 {
		t.Errorf("the age of an answer that was handed over is %q", moved.header.Get("Age"))
	}
	moved.header.Del("Cache-Status")
	stored.header.Del("Cache-Status")
	moved.header.Del("Age")
	stored.header.Del("Age")
	if diff := cmp.Diff(stored.header, moved.header); diff != "" {
		t.Errorf("the headers: -stored +moved:\n%s", diff)
	}
}

// TestHandOverStored: what was handed over is stored, and what the previous owner does not have comes from the origin once.
func TestHandOverStored(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	stored := before.get(t, "/a")
	after.get(t, "/a")
	must(t, before.shard.Process.Signal(syscall.SIGTERM))
	after.purgeEdge(t)
	if got := after.get(t, "/a"); got.body != stored.body || strings.Count(got.header.Get("Cache-Status"), "hit") != 1 {
		t.Errorf("it is not stored: %q (%s)", got.body, got.header.Get("Cache-Status"))
	}
	first, second := after.get(t, "/new"), after.get(t, "/new")
	if first.body != second.body || strings.Contains(first.header.Get("Cache-Status"), "hit") {
		t.Errorf("new: %q (%s), then %q", first.body, first.header.Get("Cache-Status"), second.body)
	}
	if n := len(after.origin.received("/a")) + len(after.origin.received("/new")); n != 2 {
		t.Errorf("the origin has received %d requests for two objects", n)
	}
}

// TestHandOverRing: of three shards, of which one is new, each asks the owner of an object among the two before.
func TestHandOverRing(t *testing.T) {
	t.Parallel()
	free := freePorts(t, 3)
	ports := map[string]string{"shard-a.test": free[0], "shard-b.test": free[1], "shard-c.test": free[2]}
	in, origin := declare(nil), newOrigin(t)
	in.Previous = cacheconf.Peers{"shard-a.test", "shard-b.test"}
	tiers := map[string]*tiers{}
	for _, shards := range []cacheconf.Peers{{"shard-a.test", "shard-b.test"}, {"shard-b.test", "shard-a.test"}, {"shard-c.test", "shard-a.test", "shard-b.test"}} {
		in.Shards = shards
		tiers[shards[0]] = startTiers(t, origin, in, ports)
	}
	const objects = 60
	stored := map[string]string{}
	for n := range objects {
		path := fmt.Sprintf("/%d", n)
		stored[path] = tiers["shard-a.test"].get(t, path).body
	}
	owned, moved := 0, 0
	for path, want := range stored {
		got := tiers["shard-c.test"].get(t, path)
		status := got.header.Get("Cache-Status")
		if got.body != want {
			t.Errorf("%s: %q, and not %q (%s)", path, got.body, want, status)
		}
		if strings.Contains(status, ", shard-c.test; fwd=uri-miss") {
			owned++
		}
		if strings.Contains(status, "detail=handover") {
			moved++
		}
	}
	// How many the new shard owns depends on the ports.
	if owned == 0 || owned == objects || moved != owned {
		t.Errorf("of %d objects, the new shard owns %d, and %d were handed over", objects, owned, moved)
	}
}

// TestHandOverOlderInstance: a shard whose instance manager does not show how far it is with purges requests from the
// origin, and a shard gives it nothing.
func TestHandOverOlderInstance(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"begun", "done"} {
		before, after := handOver(t, nil)
		stored := before.get(t, "/a").body
		tiers := map[string]*tiers{"begun": after, "done": before}[link]
		must(t, os.Remove(filepath.Join(filepath.Dir(tiers.logs[0]), "cache", instanceapi.DirPurged, link)))
		if got := after.get(t, "/a"); got.body == stored || got.status != http.StatusOK {
			t.Errorf("without the link %s: %d %q", link, got.status, got.body)
		}
		if n := len(after.origin.received("/a")); n != 2 {
			t.Errorf("without the link %s, the origin has received %d requests", link, n)
		}
	}
}

// purgeEdge gives the edge's objects another generation, so that the next request gets to the shard.
func (s *tiers) purgeEdge(t *testing.T) {
	t.Helper()
	number := s.purged[1].Number() + 1
	must(t, s.purged[1].Apply(t.Context(), instanceapi.Purges{Since: number - 1, List: []instanceapi.Purge{{Number: number, All: true}}}))
}

// TestHandOverOf: of each kind of object that the previous owner may have, only what is fresh is handed over, and only in
// the variant that was requested.
func TestHandOverOf(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, func(spec *v1alpha1.NginxCacheSpec) { spec.Defaults.StaleWhileRevalidate = "1h" })
	vary, stale := with("/vary", "Vary", "Accept-Language"), with("/stale", "Cache-Control", "max-age=1")
	redirect := with("/redirect", "Cache-Control", "max-age=60", "Location", "/x")
	before.origin.setStatus("/redirect", http.StatusFound)
	german, dated := before.get(t, vary, "Accept-Language", "de").body, before.get(t, stale).body
	before.get(t, redirect)
	head := before.get(t, "/head").header.Get("Content-Length")
	large := before.get(t, "/large?more="+strings.Repeat("x", 4000)).body
	bypass := before.get(t, "/private", "Cookie", "session=1").body
	time.Sleep(2100 * time.Millisecond)

	if got := after.get(t, vary, "Accept-Language", "fr").body; got == german {
		t.Error("another variant was handed over")
	}
	if got := after.get(t, vary, "Accept-Language", "de").body; got != german {
		t.Errorf("the variant is %q, and not %q", got, german)
	}
	if got := after.get(t, stale).body; got == dated {
		t.Error("an object was handed over after the end of its freshness")
	}
	if got := after.get(t, redirect); got.status != http.StatusFound || got.header.Get("Location") != "/x" || len(after.origin.received("/redirect")) != 1 {
		t.Errorf("a redirect is %d %v, the origin has received %d requests", got.status, got.header, len(after.origin.received("/redirect")))
	}
	if got := after.send(t, http.MethodHead, "/head"); got.status != http.StatusOK || got.header.Get("Content-Length") != head || len(after.origin.received("/head")) != 1 {
		t.Errorf("HEAD is answered with %d %v, the origin has received %d requests", got.status, got.header, len(after.origin.received("/head")))
	}
	if got := after.get(t, "/large?more="+strings.Repeat("x", 4000)); got.body != large {
		t.Errorf("a large object has %d bytes, and not %d", len(got.body), len(large))
	}
	if got := after.get(t, "/private", "Cookie", "session=1").body; got == bypass {
		t.Error("a private answer was handed over")
	}
}

// TestHandOverKeepsFreshness: an object that was handed over is fresh for as long as it was before.
func TestHandOverKeepsFreshness(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	path := with("/a", "Cache-Control", "max-age=20, must-revalidate")
	start, stored := time.Now(), before.get(t, path).body
	time.Sleep(10 * time.Second)
	if got := after.get(t, path).body; got != stored {
		t.Errorf("%q, then %q", stored, got)
	}
	poll().Eventually(t, "the object is requested again", func() error {
		if after.get(t, path).body == stored {
			return fmt.Errorf("after %s, it is %q", time.Since(start), stored)
		}
		return nil
	})
	// Not for 20 s after the hand-over.
	if took := time.Since(start); took > 28*time.Second {
		t.Errorf("the object of 20 s was fresh for %s", took)
	}
}

// TestHandOverStale: for an object that the new owner has, nobody is asked but the origin. If it fails, the object is the
// answer as without a hand-over.
func TestHandOverStale(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	counted := count(t, before.logs[0])
	path := with("/a", "Cache-Control", "max-age=1")
	stored := after.get(t, path).body
	time.Sleep(2100 * time.Millisecond)
	after.origin.setStatus("/a", http.StatusServiceUnavailable)
	if got := after.get(t, path); got.body != stored {
		t.Errorf("the answer is %d %q", got.status, got.body)
	}
	// A connection that was kept open and is closed makes nginx repeat the request, as without a hand-over.
	if n := len(after.origin.received("/a")); n < 2 || n > 3 {
		t.Errorf("the origin has received %d requests", n)
	}
	after.origin.setStatus("/b", http.StatusServiceUnavailable)
	if got := after.get(t, "/b"); got.status != http.StatusServiceUnavailable {
		t.Errorf("an error of the origin is answered with %d", got.status)
	}
	poll().Eventually(t, "the requests are counted", func() error {
		if n := counted().sum("nginx_cache_requests_total"); n != 2 {
			return fmt.Errorf("the previous owner has received %v requests, for two objects", n)
		}
		return nil
	})
}

// TestHandOverPurged: nothing is handed over by a shard that has not purged what the new owner has begun to.
func TestHandOverPurged(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	paths := []string{"/purged", "/other", "/later"}
	stored := map[string]string{}
	for _, path := range paths {
		stored[path] = before.get(t, path).body
	}
	number := before.purged[0].Number() + 1
	purges := instanceapi.Purges{Since: number - 1, List: []instanceapi.Purge{{Number: number, Targets: []instanceapi.Target{{Host: "127.0.0.1", Path: "/purged"}}}}}
	must(t, after.purged[0].Apply(t.Context(), purges))
	for _, path := range paths[:2] {
		if got := after.get(t, path).body; got == stored[path] {
			t.Errorf("%s was handed over by a shard that has not purged", path)
		}
	}
	must(t, before.purged[0].Apply(t.Context(), purges))
	after.purgeEdge(t)
	if got := after.get(t, "/purged").body; got == stored["/purged"] {
		t.Error("what was purged is there")
	}
	if got := after.get(t, "/later").body; got != stored["/later"] {
		t.Error("what was not purged is not handed over when both have purged")
	}
}

// TestHandOverSoftPurged: what was made stale is not handed over, and what has not been made stale yet neither.
func TestHandOverSoftPurged(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, func(spec *v1alpha1.NginxCacheSpec) { spec.Defaults.StaleWhileRevalidate = "1h" })
	paths := []string{"/1", "/2"}
	stored := map[string]string{}
	for _, path := range paths {
		stored[path] = before.get(t, path).body
	}
	number := before.purged[0].Number() + 1
	purges := instanceapi.Purges{Since: number - 1, List: []instanceapi.Purge{{Number: number, Soft: true, All: true}}}
	for i, path := range paths {
		must(t, []*tiers{after, before}[i].purged[0].Apply(t.Context(), purges))
		if got := after.get(t, path).body; got == stored[path] {
			t.Errorf("%s was handed over after it was made stale in %d shards", path, i+1)
		}
	}
}

// TestHandOverDuringPurges: while purges come all the time, no object is older than the last one that both shards had
// carried out when it was requested.
func TestHandOverDuringPurges(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	for range 100 {
		old := before.get(t, "/a").body
		number := before.purged[0].Number() + 1
		purges := instanceapi.Purges{Since: number - 1, List: []instanceapi.Purge{{Number: number, Targets: []instanceapi.Target{{Host: "127.0.0.1", Path: "/a"}}}}}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { after.get(t, "/a") })
		}
		must(t, after.purged[0].Apply(t.Context(), purges))
		must(t, before.purged[0].Apply(t.Context(), purges))
		must(t, after.purged[1].Apply(t.Context(), purges))
		if got := after.get(t, "/a").body; got == old {
			t.Errorf("purge %d: the answer is %q, which was purged", number, got)
		}
		group.Wait()
		if got := after.get(t, "/a").body; got == old {
			t.Errorf("purge %d: later, the answer is %q, which was purged", number, got)
		}
		must(t, before.purged[1].Apply(t.Context(), purges))
	}
}

// TestHandOverPreviousAway: a previous owner that does not answer costs two clients some time, and nobody an error.
func TestHandOverPreviousAway(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	workers := children(t, before.shard.Process.Pid)
	for _, worker := range workers {
		must(t, syscall.Kill(worker, syscall.SIGSTOP))
		t.Cleanup(func() { must(t, syscall.Kill(worker, syscall.SIGCONT)) })
	}
	slow := 0
	for n := range 20 {
		start := time.Now()
		if got := after.get(t, fmt.Sprintf("/%d", n)); got.status != http.StatusOK {
			t.Errorf("the status is %d", got.status)
		}
		// nginx waits 3 s for an answer.
		if time.Since(start) > 2500*time.Millisecond {
			slow++
		}
	}
	if slow == 0 || slow > 2 {
		t.Errorf("%d of 20 requests waited for the previous owner, want one or two", slow)
	}
}

// children returns the processes that a process has started.
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	must(t, err)
	for field := range strings.FieldsSeq(string(text)) {
		child, err := strconv.Atoi(field)
		must(t, err)
		pids = append(pids, child)
	}
	return pids
}

// TestHandOverCollapse: many clients that request an object at once cost the previous owner one request. It has asked
// itself before it asked the origin.
func TestHandOverCollapse(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	counted := count(t, before.logs[0])
	stored := before.get(t, "/a").body
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if got := after.get(t, "/a").body; got != stored {
				t.Errorf("%q, and not %q", got, stored)
			}
		})
	}
	group.Wait()
	poll().Eventually(t, "the requests are counted", func() error {
		want := map[string]float64{"miss origin default": 1, "handover shards default": 1, "handover none default": 1}
		if diff := cmp.Diff(want, counted().of("nginx_cache_requests_total")); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
}

// TestHandOverMetrics: each request is counted once in each pod, and what was handed over is no request to an origin.
func TestHandOverMetrics(t *testing.T) {
	t.Parallel()
	before, after := handOver(t, nil)
	path := with("/a", "Cache-Status", "cdn; hit")
	logs := map[string]func() counted{"edge": count(t, after.logs[1]), "shard": count(t, after.logs[0]), "previous owner": count(t, before.logs[0])}
	before.get(t, path)
	after.get(t, path)
	after.get(t, path)
	after.get(t, "/new")
	// The header is not for clients.
	after.get(t, "/new", "X-Cache-Only", "0")
	before.get(t, "/self")
	poll().Eventually(t, "the requests are counted", func() error {
		for name, want := range map[string]map[string]float64{
			"edge":           {"miss shards default": 1, "hit edge default": 2, "miss origin default": 1},
			"shard":          {"miss shards default": 1, "miss origin default": 1},
			"previous owner": {"miss origin default": 2, "handover shards default": 1, "handover none default": 3},
		} {
			got := logs[name]()
			if diff := cmp.Diff(want, got.of("nginx_cache_requests_total")); diff != "" {
				return fmt.Errorf("%s: -want +got:\n%s", name, diff)
			}
			if a, b := got.sum("nginx_cache_requests_total"), got.sum("nginx_http_requests_total"); a != b {
				return fmt.Errorf("%s: %v requests by result, %v by status", name, a, b)
			}
			if n := got.sum("nginx_http_log_malformed_total"); n != 0 {
				return fmt.Errorf("%s: %v lines are malformed", name, n)
			}
		}
		return nil
	})
}
