package purge

import (
	"testing"

	"example.com/nginx-operator/internal/instance/cachefile"
	"example.com/nginx-operator/internal/instanceapi"
)

// TestSearch: an object is found by its URL, as nginx normalizes the path, and the greater effect prevails.
func TestSearch(t *testing.T) {
	s := newSearch([]instanceapi.Purge{
		{Targets: []instanceapi.Target{{Host: "a", Path: "/removed"}}}, // Its generation does that.
		{Soft: true, Targets: []instanceapi.Target{
			{Host: "a", Path: "/x y"}, {Host: "a", Path: "/q", Query: "?v=1"}, {Host: "a", Path: "/below/", Below: true}, {Host: "b", Path: "/", Below: true},
			{Host: "d", Path: "/1/2/3/4/5/6/", Below: true},
		}},
	})
	for key, want := range map[string]effect{
		"g/0 http://a/x%20y":                makeStale,
		"g/0 g/5 https://a//./x%20y":        makeStale,
		"g/0 http://a/x":                    keep,
		"g/0 http://a/x%20y?":               keep,
		"g/0 http://a/q?v=1":                makeStale,
		"g/0 http://a/q":                    keep,
		"g/0 http://a/removed":              keep,
		"g/0 http://a/below/":               makeStale,
		"g/0 http://a/below/c/d?e=f":        makeStale,
		"g/0 http://a/%62elow/c":            makeStale,
		"g/0 http://a/below":                keep,
		"g/0 http://b/%zz":                  makeStale,
		"g/0 http://c/":                     keep,
		"g/0 http://d/1/2/3/4/5/6/7/8/9/10": makeStale,
		"g/0 http://d/1/2/3/4/5/":           keep,
		"nonsense":                          keep,
		"":                                  keep,
	} {
		if got := s.of(&cachefile.Object{Key: []byte(key)}); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
	if newSearch([]instanceapi.Purge{{All: true}, {Targets: []instanceapi.Target{{Host: "a", Path: "/"}}}}) != nil {
		t.Error("objects are searched for what their generations do")
	}
	s = newSearch([]instanceapi.Purge{{Soft: true, All: true}, {Tags: []string{"t"}}})
	if got := s.of(&cachefile.Object{}); got != makeStale {
		t.Errorf("everything is stale, but %d", got)
	}
}
