package purge

import (
	"net/url"
	"strings"

	"example.com/nginx-operator/internal/instance/cachefile"
	"example.com/nginx-operator/internal/instanceapi"
)

// effect is what purges do with an object. The greater one prevails.
type effect int

const (
	keep effect = iota
	makeStale
	remove
)

// search is what the stored objects are searched for.
type search struct {
	all     effect
	tags    map[string]effect
	targets map[instanceapi.Target]effect
}

// newSearch returns the search for what purges need to find. It is nil if they need none.
func newSearch(purges []instanceapi.Purge) *search {
	var s *search
	for i := range purges {
		p := &purges[i]
		if !p.Scans() {
			continue
		}
		if s == nil {
			s = &search{tags: map[string]effect{}, targets: map[instanceapi.Target]effect{}}
		}
		e := remove
		if p.Soft {
			e = makeStale
		}
		if p.All {
			s.all = max(s.all, e)
		}
		for _, tag := range p.Tags {
			s.tags[tag] = max(s.tags[tag], e)
		}
		for _, target := range p.Targets {
			s.targets[target] = max(s.targets[target], e)
		}
	}
	return s
}

// of returns what happens to an object.
func (s *search) of(o *cachefile.Object) effect {
	found := s.all
	if len(s.tags) > 0 {
		o.HasTag(func(tag []byte) bool {
			found = max(found, s.tags[string(tag)])
			return found == remove
		})
	}
	if found < remove && len(s.targets) > 0 {
		found = max(found, s.ofKey(string(o.Key)))
	}
	return found
}

// ofKey returns what happens to an object by its URL, which is the end of its key.
func (s *search) ofKey(key string) effect {
	_, location, _ := strings.Cut(key[strings.LastIndexByte(key, ' ')+1:], "://")
	at := strings.IndexAny(location, "/?#")
	if at < 0 {
		at = len(location)
	}
	host, rest := location[:at], location[at:]
	raw, query, found := strings.Cut(rest, "?")
	raw, _, _ = strings.Cut(raw, "#")
	if found {
		query = "?" + query
	}
	decoded, err := url.PathUnescape(raw)
	if err != nil {
		// nginx takes it as it is, or refuses it.
		decoded = raw
	}
	path := instanceapi.NormalizePath(decoded)
	e := s.targets[instanceapi.Target{Host: host, Path: path, Query: query}]
	// A purge names at most this many folders, and a key can have thousands.
	for i, folders := 0, 0; i < len(path) && folders <= instanceapi.MaxPurgedFolders; i++ {
		if path[i] == '/' {
			folders++
			e = max(e, s.targets[instanceapi.Target{Host: host, Path: path[:i+1], Below: true}])
		}
	}
	return e
}
