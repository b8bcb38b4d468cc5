//go:build instance

package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/instance/handover"
	"example.com/nginx-operator/internal/instanceapi"
)

// startRing starts a cache of two shards, each with an edge.
func startRing(t *testing.T) (one, two *tiers) {
	t.Helper()
	free := freePorts(t, 2)
	ports := map[string]string{"one.test": free[0], "two.test": free[1]}
	in, origin := declare(nil), newOrigin(t)
	in.Cache.Spec.Shards.HandOver = "5m"
	in.Shards = cacheconf.Peers{"one.test", "two.test"}
	one = startTiers(t, origin, in, ports)
	in.Shards = cacheconf.Peers{"two.test", "one.test"}
	return one, startTiers(t, origin, in, ports)
}

// TestShardEnds: what a shard has stored comes from the other one after it has ended, but for what was purged, has expired
// or varies.
func TestShardEnds(t *testing.T) {
	t.Parallel()
	one, two := startRing(t)
	const objects = 100
	path := func(n int) string { return fmt.Sprintf("/objects/%d?a=%%2F", n) }
	stored, kept := map[int]string{}, 0
	for n := range objects {
		stored[n] = one.get(t, path(n)).body
	}
	varies := with("/varies", "Vary", "Accept-Language")
	one.get(t, varies, "Accept-Language", "de")
	one.get(t, with("/soon", "Cache-Control", "max-age=1"))
	time.Sleep(1100 * time.Millisecond)
	requests := one.origin.count()

	one.handsOver().End(t.Context(), time.Minute)
	if n := one.origin.count(); n != requests {
		t.Errorf("the hand-over has cost the origin %d requests", n-requests)
	}
	must(t, one.shard.Process.Signal(syscall.SIGTERM))
	for n := range objects {
		if two.get(t, path(n)).body == stored[n] {
			kept++
		}
	}
	if kept != objects {
		t.Errorf("of %d objects, %d are stored", objects, kept)
	}
}

// TestShardEndsAgain: a copy that is no longer fresh is replaced by what the owner has got from the origin since.
func TestShardEndsAgain(t *testing.T) {
	t.Parallel()
	one, two := startRing(t)
	path := func(n int) string { return with(fmt.Sprintf("/objects/%d", n), "Cache-Control", "max-age=4") }
	var renewed [20]string
	for n := range renewed {
		one.get(t, path(n))
	}
	one.handsOver().End(t.Context(), time.Minute)
	must(t, one.handsOver().Begin())
	time.Sleep(5100 * time.Millisecond)
	for n := range renewed {
		renewed[n] = one.get(t, path(n)).body
	}
	one.handsOver().End(t.Context(), time.Minute)
	must(t, one.shard.Process.Signal(syscall.SIGTERM))
	for n := range renewed {
		if body := two.get(t, path(n)).body; body != renewed[n] {
			t.Errorf("object %d is %q, and not %q", n, body, renewed[n])
		}
	}
}

// TestPurgedShardEnds: what the other shard has purged is not handed over to it.
func TestPurgedShardEnds(t *testing.T) {
	t.Parallel()
	one, two := startRing(t)
	const objects = 40
	stored := map[int]string{}
	for n := range objects {
		stored[n] = one.get(t, fmt.Sprintf("/objects/%d", n)).body
	}
	number := two.purged[0].Number() + 1
	must(t, two.purged[0].Apply(t.Context(), instanceapi.Purges{Since: number - 1, List: []instanceapi.Purge{{Number: number, All: true}}}))
	one.handsOver().End(t.Context(), time.Minute)
	must(t, one.shard.Process.Signal(syscall.SIGTERM))
	for n := range objects {
		if body := two.get(t, fmt.Sprintf("/objects/%d", n)).body; body == stored[n] {
			t.Errorf("object %d is the one that was purged", n)
		}
	}
}

// TestBothShardsEnd: a shard that ends takes nothing.
func TestBothShardsEnd(t *testing.T) {
	t.Parallel()
	one, two := startRing(t)
	for n := range 40 {
		one.get(t, fmt.Sprintf("/objects/%d", n))
	}
	before := len(two.objects(t))
	must(t, os.WriteFile(two.handsOver().Ending, nil, 0o644))
	one.handsOver().End(t.Context(), time.Minute)
	if n := len(two.objects(t)); n != before {
		t.Errorf("it has taken %d objects", n-before)
	}
	must(t, two.handsOver().Begin())
	one.handsOver().End(t.Context(), time.Minute)
	poll().Eventually(t, "it has taken the objects", func() error {
		if n := len(two.objects(t)); n != 40 {
			return fmt.Errorf("of 40 objects, it has %d", n)
		}
		return nil
	})
}

// handsOver returns what the instance manager of the shard does at its end.
func (s *tiers) handsOver() handover.Shard {
	return handover.Shard{Dir: filepath.Join(s.volume, instanceapi.DirObjects), Address: s.ending, Ending: filepath.Join(filepath.Dir(s.volume), "ending")}
}
