package httpserver

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// grace is how long a connection that is not idle is protected from being closed for a new one:
// its request may be on the way. Meanwhile, new connections wait in the kernel.
const grace = 50 * time.Millisecond

// connections bounds the open connections. A new connection is never refused but replaces another
// one, so a probe is answered no matter how many others are open.
type connections struct {
	most int
	// pace bounds the requests of a connection per second, after a burst.
	pace  rate.Limit
	burst int
	now   func() time.Time

	mu   sync.Mutex
	open map[net.Conn]*connection
}

// connection is an open connection.
type connection struct {
	peer    netip.Addr
	state   http.ConnState
	since   time.Time
	limiter *rate.Limiter
}

func newConnections(l Limits) *connections {
	pace := rate.Limit(l.RequestRate)
	if l.RequestRate == 0 {
		pace = rate.Inf
	}
	return &connections{most: l.Connections, pace: pace, burst: l.RequestBurst, now: time.Now, open: map[net.Conn]*connection{}}
}

// track is called by net/http when a connection changes its state. A connection is new until the
// header of its first request has been read.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch known := c.open[conn]; {
	case state == http.StateClosed || state == http.StateHijacked:
		delete(c.open, conn)
	case state == http.StateNew:
		c.add(conn)
	case known != nil:
		known.state, known.since = state, c.now()
	}
}

// add adds a new connection, unless it is known, and returns it.
func (c *connections) add(conn net.Conn) *connection {
	known := c.open[conn]
	if known == nil {
		known = &connection{peer: peer(conn), state: http.StateNew, since: c.now(), limiter: rate.NewLimiter(c.pace, c.burst)}
		c.open[conn] = known
	}
	return known
}

// makeRoom closes the least important connection if there is no room for another one. It returns
// how long to wait until one can be closed; 0: there is room.
func (c *connections) makeRoom() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) < c.most {
		return 0
	}
	peers := map[netip.Addr]int{}
	for _, each := range c.open {
		peers[each.peer]++
	}
	var victim net.Conn
	wait, now := grace, c.now()
	for conn, each := range c.open {
		if age := now.Sub(each.since); each.state != http.StateIdle && age < grace {
			wait = min(wait, grace-age)
			continue
		}
		if victim == nil || each.before(c.open[victim], peers) {
			victim = conn
		}
	}
	if victim == nil {
		return wait
	}
	delete(c.open, victim)
	reset(victim)
	return 0
}

// reset closes a connection at once: nothing is left of it in the kernel, and nothing is sent to a client that may not read.
func reset(conn net.Conn) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// listener makes room before it accepts a connection.
type listener struct {
	net.Listener
	open *connections
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	// Let earlier connections read what they were sent.
	runtime.Gosched()
	for wait := l.open.makeRoom(); wait > 0; wait = l.open.makeRoom() {
		<-time.After(wait)
	}
	return l.Listener.Accept()
}

// before reports whether a connection is closed rather than another one: first those of the peer
// with the most connections, then idle ones, then those that have not sent a header, then those
// that have been in their state the longest.
func (c *connection) before(other *connection, peers map[netip.Addr]int) bool {
	if a, b := peers[c.peer], peers[other.peer]; a != b {
		return a > b
	}
	if a, b := spared[c.state], spared[other.state]; a != b {
		return a < b
	}
	return c.since.Before(other.since)
}

// spared orders the states of connections by how much is lost if they are closed.
var spared = map[http.ConnState]int{http.StateIdle: 0, http.StateNew: 1, http.StateActive: 2}

func peer(conn net.Conn) netip.Addr {
	if address, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return address.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// connectionKey is the key of a connection's limiter in the context of its requests.
type connectionKey struct{}

// attach adds the limiter of a connection to the context of its requests. net/http calls it before it reports the connection as
// new.
func (c *connections) attach(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return context.WithValue(ctx, connectionKey{}, c.add(conn).limiter)
}

// paced delays the requests of a connection that arrive too fast.
func paced(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if limiter, ok := r.Context().Value(connectionKey{}).(*rate.Limiter); ok && limiter.Wait(r.Context()) != nil {
			return // The client has gone away.
		}
		handler.ServeHTTP(w, r)
	})
}
