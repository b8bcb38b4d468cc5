package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// feedKey names what a guest watches: a view of one namespace, or, without one, of the cluster.
type feedKey struct{ view, namespace string }

func (k feedKey) String() string {
	if k.namespace == "" {
		return k.view
	}
	return k.view + " of " + k.namespace
}

// feed is how far a guest is with what it watches.
type feed struct {
	// watches are those that are open. Blind: the last one has ended, and none has begun since.
	watches int
	blind   bool
	// stale: it has to be listed anew.
	stale bool
	// held counts the watches whose events are being kept.
	held int
}

// sees notes that a feed is watched, and returns the function that notes that it ends.
func (g *Guest) sees(key feedKey) (ends func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.feeds[key]
	if f == nil {
		f = &feed{}
		g.feeds[key] = f
	}
	f.watches++
	f.blind = false
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		f.watches--
		f.blind = f.watches == 0
	}
}

// hold notes how many more watches have their events kept.
func (g *Guest) hold(key feedKey, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.feeds[key].held += n
}

// Expire has the guest list everything anew: it is told of each watch that its version is gone.
func (g *Guest) Expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expire()
	g.hangUp()
}

// expire has everything listed anew; g.mu is held.
func (g *Guest) expire() {
	for _, f := range g.feeds {
		f.stale = true
	}
}

// expired tells whether a watch has to end at once, since it is to be listed anew.
func (g *Guest) expired(key feedKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.feeds[key]
	return f != nil && f.stale
}

func (g *Guest) listed(key feedKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.feeds[key]; f != nil {
		f.stale = false
	}
}

// Listed tells what was not listed anew since Expire, or by a guest that has connected again.
func (g *Guest) Listed() error {
	return g.wrong(func(_ feedKey, f *feed) error {
		if f.stale {
			return errStale
		}
		return nil
	})
}

// Behind tells why a guest cannot know yet what there is in a namespace (empty: in all): it was not
// listed anew what has to be, wherever that is, as programs begin to work when they know everything;
// events of the namespace are being kept; or a watch of it has ended and was not begun again, for
// which clients take their time; nil: it can.
func (g *Guest) Behind(namespace string) error {
	return g.wrong(func(key feedKey, f *feed) error {
		elsewhere := namespace != "" && key.namespace != "" && key.namespace != namespace
		switch {
		case f.stale:
			return errStale
		case elsewhere:
			return nil
		case f.blind:
			return errBlind
		case f.held > 0:
			return errHeld
		}
		return nil
	})
}

var (
	errStale = errors.New("it was not listed anew")
	errBlind = errors.New("it is not watched again yet")
	errHeld  = errors.New("events are being kept")
)

// wrong looks for a feed with which something is wrong.
func (g *Guest) wrong(with func(feedKey, *feed) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	order := func(a, b feedKey) int {
		return cmp.Or(cmp.Compare(a.view, b.view), cmp.Compare(a.namespace, b.namespace))
	}
	for _, key := range slices.SortedFunc(maps.Keys(g.feeds), order) {
		if err := with(key, g.feeds[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}
