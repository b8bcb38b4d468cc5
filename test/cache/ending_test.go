//go:build instance

package cache

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/instance/handover"
	"example.com/nginx-operator/internal/instanceapi"
)

// startRing starts a cache of two shards, each with an edge. handOver is that of each shard's configuration.
func startRing(t *testing.T, handOver ...v1alpha1.Duration) (one, two *tiers) {
	t.Helper()
	free := freePorts(t, 2)
	ports := map[string]string{"one.test": free[0], "two.test": free[1]}
	in, origin := declare(nil), newOrigin(t)
	in.Cache.Spec.Shards.HandOver = handOver[0]
	in.Shards = cacheconf.Peers{"one.test", "two.test"}
	one = startTiers(t, origin, in, ports)
	in.Cache.Spec.Shards.HandOver = handOver[1]
	in.Shards = cacheconf.Peers{"two.test", "one.test"}
	return one, startTiers(t, origin, in, ports)
}

// TestShardEnds: what a shard has stored comes from the other one after it has ended, whatever it is, but for what has expired
// or varies. The origin is not asked.
func TestShardEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path string
		kept bool
	}{
		"a query string":   {"/objects/%d?a=%%2F", true},
		"a large header":   {"/header/%d?X-Policy=" + strings.Repeat("x", 6000), true},
		"a large body":     {"/large/%d?size=3000000", true},
		"a redirect":       {"/moved/%d?Cache-Control=max-age=60", true},
		"what varies":      {"/varies/%d?Vary=Accept-Language", false},
		"what has expired": {"/soon/%d?Cache-Control=max-age=1", false},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := startRing(t, "5m", "5m")
			objects := 12
			if !tt.kept {
				objects = 40 // Shard one owns some, whatever the ring.
			}
			stored, owned := one.storeIn(t, "one.test", tt.path, objects)
			time.Sleep(1100 * time.Millisecond)
			requests := one.origin.count()
			one.handsOver().End(t.Context())
			if n := one.origin.count(); n != requests {
				t.Errorf("the hand-over has cost the origin %d requests", n-requests)
			}
			// As a pod does, which first gives what the other shard has begun to store.
			one.quit(t)
			for n := range stored {
				kept := two.send(t, http.MethodGet, fmt.Sprintf(tt.path, n), "Accept-Language", "de").body == stored[n]
				if kept != tt.kept && (tt.kept || owned[n]) {
					t.Errorf("object %d is stored: %t; shard one owned it: %t", n, kept, owned[n])
				}
			}
			if !tt.kept && len(owned) == 0 {
				t.Errorf("shard one owned none of %d objects", objects)
			}
		})
	}
}

// storeIn requests objects. It returns their bodies, and which of them a shard owns.
func (s *tiers) storeIn(t *testing.T, shard, path string, objects int) (stored []string, owned map[int]bool) {
	t.Helper()
	owned = map[int]bool{}
	for n := range objects {
		if strings.HasPrefix(path, "/moved") {
			s.origin.setStatus(fmt.Sprintf("/moved/%d", n), http.StatusMovedPermanently)
		}
		got := s.send(t, http.MethodGet, fmt.Sprintf(path, n), "Accept-Language", "de")
		stored = append(stored, got.body)
		if strings.HasPrefix(got.header.Get("Cache-Status"), shard+"; fwd=uri-miss") {
			owned[n] = true
		}
	}
	return stored, owned
}

// TestOtherShardIsOlder: a shard whose configuration knows nothing of shards that end takes nothing, and asks no origin.
func TestOtherShardIsOlder(t *testing.T) {
	t.Parallel()
	one, two := startRing(t, "5m", "0")
	for n := range 40 {
		one.get(t, fmt.Sprintf("/objects/%d", n))
	}
	before, requests := len(two.objects(t)), one.origin.count()
	one.handsOver().End(t.Context())
	if n := one.origin.count(); n != requests {
		t.Errorf("the hand-over has cost the origin %d requests", n-requests)
	}
	if n := len(two.objects(t)); n != before {
		t.Errorf("it has taken %d objects", n-before)
	}
}

// quit ends the shard, and waits until it accepts no connection.
func (s *tiers) quit(t *testing.T) {
	t.Helper()
	must(t, s.shard.Process.Signal(syscall.SIGQUIT))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		connection, err := net.Dial("tcp", s.ending)
		if err != nil {
			return
		}
		must(t, connection.Close())
		if time.Now().After(deadline) {
			t.Fatal("the shard does not end")
		}
	}
}

// TestShardEndsAgain: a copy that is no longer fresh is replaced by what the owner has got from the origin since.
func TestShardEndsAgain(t *testing.T) {
	t.Parallel()
	one, two := startRing(t, "5m", "5m")
	path := func(n int) string { return with(fmt.Sprintf("/objects/%d", n), "Cache-Control", "max-age=10") }
	var renewed [20]string
	for n := range renewed {
		one.get(t, path(n))
	}
	one.handsOver().End(t.Context())
	must(t, one.handsOver().Begin())
	time.Sleep(11100 * time.Millisecond)
	for n := range renewed {
		renewed[n] = one.get(t, path(n)).body
	}
	one.handsOver().End(t.Context())
	one.quit(t)
	for n := range renewed {
		if body := two.get(t, path(n)).body; body != renewed[n] {
			t.Errorf("object %d is %q, and not %q", n, body, renewed[n])
		}
	}
}

// TestPurgedShardEnds: what the other shard has purged is not handed over to it.
func TestPurgedShardEnds(t *testing.T) {
	t.Parallel()
	one, two := startRing(t, "5m", "5m")
	const objects = 40
	stored := map[int]string{}
	for n := range objects {
		stored[n] = one.get(t, fmt.Sprintf("/objects/%d", n)).body
	}
	number := two.purged[0].Number() + 1
	must(t, two.purged[0].Apply(t.Context(), instanceapi.Purges{Since: number - 1, List: []instanceapi.Purge{{Number: number, All: true}}}))
	one.handsOver().End(t.Context())
	one.quit(t)
	for n := range objects {
		if body := two.get(t, fmt.Sprintf("/objects/%d", n)).body; body == stored[n] {
			t.Errorf("object %d is the one that was purged", n)
		}
	}
}

// TestBothShardsEnd: a shard that ends takes nothing.
func TestBothShardsEnd(t *testing.T) {
	t.Parallel()
	one, two := startRing(t, "5m", "5m")
	for n := range 40 {
		one.get(t, fmt.Sprintf("/objects/%d", n))
	}
	before := len(two.objects(t))
	must(t, os.WriteFile(two.handsOver().Ending, nil, 0o644))
	one.handsOver().End(t.Context())
	if n := len(two.objects(t)); n != before {
		t.Errorf("it has taken %d objects", n-before)
	}
	must(t, two.handsOver().Begin())
	one.handsOver().End(t.Context())
	poll().Eventually(t, "it has taken the objects", func() error {
		if n := len(two.objects(t)); n != 40 {
			return fmt.Errorf("of 40 objects, it has %d", n)
		}
		return nil
	})
}

// handsOver returns what the instance manager of the shard does at its end.
func (s *tiers) handsOver() handover.Shard {
	return handover.Shard{Dir: filepath.Join(s.volume, instanceapi.DirObjects), Address: s.ending, Ending: filepath.Join(filepath.Dir(s.volume), "ending"), Verify: func() error { return nil }}
}
