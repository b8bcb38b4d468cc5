//go:build instance

package cache

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instanceapi"
)

// purge purges targets from the shard, and then from the edge; everything, if there are none.
func (s *tiers) purge(t *testing.T, targets ...instanceapi.Target) {
	t.Helper()
	number := s.purged[0].Number() + 1
	purges := instanceapi.Purges{Since: number - 1, List: []instanceapi.Purge{{Number: number, All: len(targets) == 0, Targets: targets}}}
	for i := range targets {
		targets[i].Host = "127.0.0.1"
	}
	for _, store := range s.purged {
		must(t, store.Apply(purges))
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
	s := start(t, nil)
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
