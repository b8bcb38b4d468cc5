//go:build instance

package cache

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instanceapi"
)

// purge purges targets from the shard, and then from the edge; everything, if there are none.
func (s *tiers) purge(t *testing.T, targets ...instanceapi.Target) {
	t.Helper()
	s.carryOut(t, instanceapi.Purge{All: len(targets) == 0, Targets: targets})
}

// carryOut carries out a purge in the shard, and then in the edge.
func (s *tiers) carryOut(t *testing.T, p instanceapi.Purge) {
	t.Helper()
	p.Number = s.purged[0].Number() + 1
	for i := range p.Targets {
		p.Targets[i].Host = cmp.Or(p.Targets[i].Host, "127.0.0.1")
	}
	for _, store := range s.purged {
		must(t, store.Apply(t.Context(), instanceapi.Purges{Since: p.Number - 1, List: []instanceapi.Purge{p}}))
	}
}

// TestPurge: what is purged is requested from its origin again, in all its variants, and nothing else is.
func TestPurge(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/key/")}, Key: &v1alpha1.Key{QueryParameters: v1alpha1.QueryParameters{Include: []string{"v"}}}}}
	})
	paths := []string{
		"/", "/a", "/a?x=1", "/a?x=2", "/a/b", "/a/b/", "/a/b/c", "/a/bc", "/ab", "/key/a?v=1", "/key/a?v=2", "/ä b",
		"/1/2/3/4/5/6/7/8", "/1/2/3/4/5/6/x", "/a/" + strings.Repeat("x", 300),
	}
	spelled := func(path string) string { return strings.NewReplacer("ä", "%C3%A4", " ", "%20").Replace(path) }
	stored := map[string]string{}
	for _, path := range paths {
		stored[path] = s.get(t, spelled(path)).body
	}
	long := "/a/" + strings.Repeat("x", 300)
	for _, tt := range []struct {
		target instanceapi.Target
		want   []string
	}{
		{instanceapi.Target{Path: "/nothing"}, nil},
		{instanceapi.Target{Path: "/a"}, []string{"/a"}},
		{instanceapi.Target{Path: "/a", Query: "?x=1"}, []string{"/a?x=1"}},
		{instanceapi.Target{Path: "/a"}, []string{"/a"}},
		{instanceapi.Target{Path: "/key/a", Query: "?v=2"}, []string{"/key/a?v=2"}},
		{instanceapi.Target{Path: "/a/b/", Below: true}, []string{"/a/b/", "/a/b/c"}},
		{instanceapi.Target{Path: "/a/b"}, []string{"/a/b", "/a/b/"}}, // A file system does not tell them apart.
		{instanceapi.Target{Path: "/a/", Below: true}, []string{"/a/b", "/a/b/", "/a/b/c", "/a/bc", long}},
		{instanceapi.Target{Path: "/a/b/", Below: true}, []string{"/a/b/", "/a/b/c"}},
		{instanceapi.Target{Path: "/ä b"}, []string{"/ä b"}},
		{instanceapi.Target{Path: long}, []string{"/a/b", "/a/b/", "/a/b/c", "/a/bc", long}}, // No folder has such a name.
		{instanceapi.Target{Path: "/1/2/3/4/5/6/", Below: true}, []string{"/1/2/3/4/5/6/7/8", "/1/2/3/4/5/6/x"}},
		{instanceapi.Target{Path: "/1/2/3/4/5/6/7/8"}, []string{"/1/2/3/4/5/6/7/8"}},
		{instanceapi.Target{Path: "/", Below: true}, paths},
	} {
		s.purge(t, tt.target)
		var got []string
		for _, path := range paths {
			if body := s.get(t, spelled(path)).body; body != stored[path] {
				got = append(got, path)
				stored[path] = body
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%+v purged %v, want %v", tt.target, got, tt.want)
		}
	}
	s.purge(t)
	for _, path := range paths {
		if s.get(t, spelled(path)).body == stored[path] {
			t.Errorf("%s is there after everything was purged", path)
		}
	}
}

// TestPurgeVariants: an object is purged in all its variants and spellings.
func TestPurgeVariants(t *testing.T) {
	t.Parallel()
	s := start(t, passOn("X"))
	requests := [][2]string{{"/a?Vary=X", "1"}, {"/a?Vary=X", "2"}, {"/%61?Vary=X", "1"}, {"//a?Vary=X", "1"}}
	var stored []string
	for _, r := range requests {
		stored = append(stored, s.get(t, r[0], "X", r[1]).body)
	}
	for i, r := range requests {
		if s.get(t, r[0], "X", r[1]).body != stored[i] {
			t.Errorf("%v is not stored", r)
		}
	}
	s.purge(t, instanceapi.Target{Path: "/a", Query: "?Vary=X"})
	for i, r := range requests {
		if s.get(t, r[0], "X", r[1]).body == stored[i] {
			t.Errorf("%v is there after it was purged", r)
		}
	}
}

// TestPurgeDuringRequests: what was requested from an origin before a purge is not the answer after it, whenever it comes.
func TestPurgeDuringRequests(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const path = "/a?delay=500ms"
	var group sync.WaitGroup
	var before string
	group.Go(func() { before = s.get(t, path).body })
	poll().Eventually(t, "the origin has the request", func() error {
		if len(s.origin.received("/a")) == 0 {
			return fmt.Errorf("it has received none")
		}
		return nil
	})
	s.purge(t, instanceapi.Target{Path: "/a", Query: "?delay=500ms"})
	during := s.get(t, path).body
	group.Wait()
	if after := s.get(t, path).body; during == before || after != during {
		t.Errorf("before %s, during %s, after %s", before, during, after)
	}
}

// TestPurgeTags: the objects that have a tag are requested again, in all their variants, and no others are. Clients do not
// see the tags.
func TestPurgeTags(t *testing.T) {
	t.Parallel()
	s := start(t, passOn("X"))
	requests := map[string][]string{
		with("/1", "Cache-Tag", "a"):                     nil,
		with("/2", "Cache-Tag", "b, a ,c"):               nil,
		with("/3", "Cache-Tag", "aa,A"):                  nil,
		with("/4", "Cache-Tag", "b", "Cache-Tag", "x,a"): nil,
		"/5": nil,
		with("/6", "Cache-Tag", "a", "Vary", "X"):                        {"X", "1"},
		with("/7", "Cache-Tag", "a", "Other", strings.Repeat("y", 6000)): nil,
	}
	stored := map[string]string{}
	for path, headers := range requests {
		first := s.get(t, path, headers...)
		stored[path] = first.body
		if tags := first.header.Get("Cache-Tag"); tags != "" {
			t.Errorf("%.40s: the client sees the tags %s", path, tags)
		}
	}
	for range 2 {
		s.carryOut(t, instanceapi.Purge{Tags: []string{"a", "z"}})
		for path, headers := range requests {
			again, twice := s.get(t, path, headers...).body, s.get(t, path, headers...).body
			if purged, want := again != stored[path], !strings.HasPrefix(path, "/3") && !strings.HasPrefix(path, "/5"); purged != want {
				t.Errorf("%.40s: purged is %t", path, purged)
			}
			if again != twice {
				t.Errorf("%.40s is not stored again", path)
			}
			stored[path] = again
		}
	}
}

// TestPurgeTagsDuringRequests: what was requested from an origin before a purge of its tag is not the answer after it,
// whether the origin had begun to answer or not.
func TestPurgeTagsDuringRequests(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, when := range []string{"delay", "pause"} {
		t.Run(when, func(t *testing.T) {
			path := with("/"+when, "Cache-Tag", "a", when, "500ms")
			var group sync.WaitGroup
			var before string
			group.Go(func() { before = s.get(t, path).body })
			poll().Eventually(t, "the origin has the request", func() error {
				if len(s.origin.received("/"+when)) == 0 {
					return fmt.Errorf("it has received none")
				}
				return nil
			})
			if when == "pause" {
				// The header is in the caches.
				time.Sleep(100 * time.Millisecond)
			}
			s.carryOut(t, instanceapi.Purge{Tags: []string{"a"}})
			group.Wait()
			after := s.get(t, path).body
			if after == before {
				t.Errorf("after the purge: %s", after)
			}
			if again := s.get(t, path).body; again != after {
				t.Errorf("%s is not stored: %s", after, again)
			}
		})
	}
}

// TestPurgeTagsCollapse: many requests for an object whose tag was purged are one request to the origin.
func TestPurgeTagsCollapse(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	path := with("/a", "Cache-Tag", "a", "delay", "300ms")
	s.get(t, path)
	s.carryOut(t, instanceapi.Purge{Tags: []string{"a"}})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { s.get(t, path) })
	}
	group.Wait()
	if got := len(s.origin.received("/a")); got != 2 {
		t.Errorf("the origin was requested %d times", got)
	}
}

// TestSoftPurge: what was made stale is the answer while it is requested again, and the answer for as long as the origin
// fails. Where nothing stale is allowed, it is requested first.
func TestSoftPurge(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) { spec.Defaults.StaleWhileRevalidate = "1h" })
	tagged, other, strict := with("/a/1", "Cache-Tag", "a"), "/b/2?x=1", with("/c", "Cache-Control", "max-age=100, must-revalidate")
	for _, tt := range []struct {
		path  string
		purge instanceapi.Purge
	}{
		{tagged, instanceapi.Purge{Tags: []string{"a"}}},
		{tagged, instanceapi.Purge{Targets: []instanceapi.Target{{Path: "/a/", Below: true}}}},
		{other, instanceapi.Purge{Targets: []instanceapi.Target{{Path: "/b/2", Query: "?x=1"}}}},
		{other, instanceapi.Purge{All: true}},
	} {
		stored, untouched := s.get(t, tt.path).body, s.get(t, "/d").body
		tt.purge.Soft = true
		s.carryOut(t, tt.purge)
		if stale := s.get(t, tt.path); stale.body != stored || !strings.Contains(stale.header.Get("Cache-Status"), "stale") {
			t.Errorf("%+v: after the purge, the answer is %s (%s), before it was %s", tt.purge, stale.body, stale.header.Get("Cache-Status"), stored)
		}
		poll().Eventually(t, "the object is requested again", func() error {
			if s.get(t, tt.path).body == stored {
				return fmt.Errorf("the answer is still %s", stored)
			}
			return nil
		})
		if got := s.get(t, "/d").body; !tt.purge.All && got != untouched {
			t.Errorf("%+v made another object stale", tt.purge)
		}
	}
	stored := s.get(t, tagged).body
	s.origin.setStatus("/a/1", 503)
	s.carryOut(t, instanceapi.Purge{Tags: []string{"a"}, Soft: true})
	for range 3 {
		if got := s.get(t, tagged); got.body != stored || got.status != 200 {
			t.Errorf("while the origin fails, the answer is %d %s, want %s", got.status, got.body, stored)
		}
	}
	stored = s.get(t, strict).body
	s.carryOut(t, instanceapi.Purge{All: true, Soft: true})
	if got := s.get(t, strict).body; got == stored {
		t.Errorf("%s is stale and the answer", got)
	}
}
