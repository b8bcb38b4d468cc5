package httpserver

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// errCrowded ends a request of the client that uses the most when there is no room for another one.
var errCrowded = errors.New("too many requests: try again")

// shares divides memory and the handler among clients.
type shares struct {
	limits BodyLimits

	mu       sync.Mutex
	claims   map[*claim]struct{}
	peers    map[netip.Addr]*share
	buffered int64
	handling int64
	// handled counts the requests that were handled.
	handled uint64
}

// share is what one client uses.
type share struct {
	requests           int
	buffered, handling int64
	// last is the value of shares.handled when a request of the client was last handled.
	last uint64
}

// claim is one request.
type claim struct {
	shares *shares
	peer   netip.Addr
	share  *share
	// connection interrupts a read or a write.
	connection *http.ResponseController
	since      time.Time
	// buffered are the bytes that are charged for it, and weight those that it takes while it is handled.
	buffered, weight int64
	phase            phase
	// next is closed when the request is the next one to be handled.
	next chan struct{}
	// evicted is closed when the request has to end.
	evicted chan struct{}
}

// phase is how far a request is.
type phase int

const (
	reading phase = iota
	waiting
	handling
	writing
	evicted
)

func newShares(l BodyLimits) *shares {
	return &shares{limits: l, claims: map[*claim]struct{}{}, peers: map[netip.Addr]*share{}}
}

func (s *shares) enter(peer netip.Addr, connection *http.ResponseController) *claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.peers[peer]
	if known == nil {
		known = &share{}
		s.peers[peer] = known
	}
	known.requests++
	c := &claim{
		shares: s, peer: peer, share: known, connection: connection, since: time.Now(), next: make(chan struct{}), evicted: make(chan struct{}),
	}
	s.claims[c] = struct{}{}
	if len(s.claims) > s.limits.Requests {
		s.evict(func(p *share) int64 { return int64(p.requests) })
	}
	return c
}

// evict ends the request that is the largest, and then the oldest, of the client that uses the most. A request that is
// being handled cannot be ended.
func (s *shares) evict(use func(*share) int64) {
	var victim *claim
	for c := range s.claims {
		if c.phase != handling && c.phase != evicted && (victim == nil || c.evictedBefore(victim, use)) {
			victim = c
		}
	}
	if victim == nil {
		return
	}
	now := time.Now()
	refused := now.Add(time.Second)
	if victim.phase == writing {
		// Its answer is in memory until the write ends.
		refused = now
	}
	victim.phase = evicted
	s.credit(victim)
	close(victim.evicted)
	// A connection without deadlines, as in a test, ends with its next read.
	_ = errors.Join(victim.connection.SetReadDeadline(now), victim.connection.SetWriteDeadline(refused))
}

func (c *claim) evictedBefore(other *claim, use func(*share) int64) bool {
	if a, b := use(c.share), use(other.share); a != b {
		return a > b
	}
	if c.buffered != other.buffered {
		return c.buffered > other.buffered
	}
	return c.since.Before(other.since)
}

// charge counts bytes that are in memory for a request.
func (c *claim) charge(n int64) error {
	s := c.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.phase == evicted {
		return errCrowded
	}
	c.buffered += n
	c.share.buffered += n
	s.buffered += n
	for s.buffered > s.limits.Buffered {
		before := s.buffered
		if s.evict(func(p *share) int64 { return p.buffered }); s.buffered == before {
			break
		}
	}
	if c.phase == evicted {
		return errCrowded
	}
	return nil
}

// credit returns everything that was charged.
func (s *shares) credit(c *claim) {
	s.buffered -= c.buffered
	c.share.buffered -= c.buffered
	c.buffered = 0
}

func (c *claim) isEvicted() bool {
	c.shares.mu.Lock()
	defer c.shares.mu.Unlock()
	return c.phase == evicted
}

// wait returns when the request is the next one to be handled, which takes a number of bytes.
func (c *claim) wait(ctx context.Context, weight int64) error {
	c.shares.mu.Lock()
	c.weight = weight
	if c.phase == reading {
		c.phase = waiting
	}
	c.shares.next()
	c.shares.mu.Unlock()
	select {
	case <-c.next:
		return nil
	case <-c.evicted:
		return errCrowded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next lets requests be handled, as long as there is room: first those of clients that have the least handled now, then
// of those whose last request was handled the longest ago. A large request waits for room, and the others behind it do too, or it would
// wait forever.
func (s *shares) next() {
	for {
		var first *claim
		for c := range s.claims {
			if c.phase == waiting && (first == nil || c.handledBefore(first)) {
				first = c
			}
		}
		if first == nil || s.handling > 0 && s.handling+first.weight > s.limits.Handled {
			return
		}
		s.handled++
		first.phase, first.share.last = handling, s.handled
		s.handling += first.weight
		first.share.handling += first.weight
		close(first.next)
	}
}

func (c *claim) handledBefore(other *claim) bool {
	switch a, b := c.share, other.share; {
	case a.handling != b.handling:
		return a.handling < b.handling
	case a.last != b.last:
		return a.last < b.last
	}
	return c.since.Before(other.since)
}

// handled lets others be handled, and charges the answer instead of the body.
func (c *claim) handled(answer int64) {
	s := c.shares
	s.mu.Lock()
	s.release(c)
	s.credit(c)
	c.phase = writing
	s.next()
	s.mu.Unlock()
	_ = c.charge(answer) // If it is evicted, the connection does not accept much of the answer.
}

// release ends the handling of a request.
func (s *shares) release(c *claim) {
	if c.phase == handling {
		s.handling -= c.weight
		c.share.handling -= c.weight
	}
}

// leave ends the request.
func (c *claim) leave() {
	s := c.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(c)
	s.credit(c)
	delete(s.claims, c)
	if c.share.requests--; c.share.requests == 0 {
		delete(s.peers, c.peer)
	}
	s.next()
}
