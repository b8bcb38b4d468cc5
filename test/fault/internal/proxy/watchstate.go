package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// feedKey identifies what a client watches: a view of one namespace or, without one, of the
// cluster.
type feedKey struct{ view, namespace string }

func (k feedKey) String() string {
	if k.namespace == "" {
		return k.view
	}
	return k.view + " of " + k.namespace
}

// feed is the state of a client's watch of a view.
type feed struct {
	// watches counts the open watches. blind: the last one has ended, and no new one has started.
	watches int
	blind   bool
	// stale reports whether the feed has to be listed again.
	stale bool
	// held counts the watches whose events are held.
	held int
}

// sees records that a feed is watched, and returns the function that records the end of the watch.
func (g *Client) sees(key feedKey) (ends func()) {
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

// hold adds n to the number of watches whose events are held.
func (g *Client) hold(key feedKey, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.feeds[key].held += n
}

// Expire makes the client list everything again: each watch gets 410 Gone.
func (g *Client) Expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expire()
	g.hangUp()
}

// expire marks all feeds stale; g.mu is held.
func (g *Client) expire() {
	for _, f := range g.feeds {
		f.stale = true
	}
}

// expired reports whether a watch must end at once because its feed is stale.
func (g *Client) expired(key feedKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.feeds[key]
	return f != nil && f.stale
}

func (g *Client) listed(key feedKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.feeds[key]; f != nil {
		f.stale = false
	}
}

// Listed returns an error if a feed was not listed since Expire or Connect.
func (g *Client) Listed() error {
	return g.wrong(func(_ feedKey, f *feed) error {
		if f.stale {
			return errStale
		}
		return nil
	})
}

// Behind returns the reason why the client may not know the state of a namespace (empty: of all
// namespaces); nil: it knows it. There are three reasons: a feed of any namespace is stale, because
// programs start to work only when they have listed everything; events of the namespace are held;
// or a watch of it has ended and was not resumed, which clients delay.
func (g *Client) Behind(namespace string) error {
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
	errStale = errors.New("it was not listed again")
	errBlind = errors.New("it is not watched again yet")
	errHeld  = errors.New("events are being held back")
)

// wrong returns the error of the first feed that has one.
func (g *Client) wrong(with func(feedKey, *feed) error) error {
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
