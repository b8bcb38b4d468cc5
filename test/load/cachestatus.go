package load

import (
	"net/http"
	"slices"
	"strings"
)

// place is where an answer came from.
type place int

const (
	// nowhere is the place of an answer that no cache has passed.
	nowhere place = iota
	fromEdge
	fromShard
	fromOrigin
)

// cached is what the header Cache-Status says (RFC 9211).
type cached struct {
	place place
	// owner is the cache that the one nearest to the client has requested from; empty if it has not.
	owner string
}

// parseCacheStatus reads the header, whose last member is of the cache nearest to the client.
func parseCacheStatus(h http.Header) cached {
	text := strings.Join(h.Values("Cache-Status"), ",")
	if text == "" {
		return cached{}
	}
	members := strings.Split(text, ",")
	slices.Reverse(members)
	c := cached{place: fromOrigin}
	for i, member := range members {
		name, parameters, _ := strings.Cut(member, ";")
		if i == 1 {
			c.owner = strings.TrimSpace(name)
		}
		hit := slices.ContainsFunc(strings.Split(parameters, ";"), func(p string) bool { return strings.TrimSpace(p) == "hit" })
		switch {
		case hit && i == 0:
			c.place = fromEdge
		case hit:
			c.place = fromShard
		}
	}
	return c
}
