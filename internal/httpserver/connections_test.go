package httpserver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// client is a connection of a peer that records when it is closed.
type client struct {
	net.Conn
	name   string
	peer   string
	closed *[]string
}

func (c *client) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.peer), 1024))
}

func (c *client) Close() error {
	*c.closed = append(*c.closed, c.name)
	return nil
}

func TestEvict(t *testing.T) {
	const kubelet, other, more = "10.0.0.1", "10.0.0.9", "10.0.0.8"
	type step struct {
		name, peer string
		states     []http.ConnState
	}
	idle := []http.ConnState{http.StateNew, http.StateActive, http.StateIdle}
	active := []http.ConnState{http.StateNew, http.StateActive}
	fresh := []http.ConnState{http.StateNew}
	ended := []http.ConnState{http.StateNew, http.StateActive, http.StateClosed}
	tests := map[string]struct {
		steps []step
		want  []string
	}{
		"the oldest of equals":    {[]step{{"a", other, fresh}, {"b", other, fresh}, {"c", other, fresh}, {"d", other, fresh}}, []string{"a"}},
		"an idle one first":       {[]step{{"a", other, active}, {"b", other, fresh}, {"c", other, idle}, {"d", other, fresh}}, []string{"c"}},
		"then one without header": {[]step{{"a", other, active}, {"b", other, active}, {"c", other, fresh}, {"d", other, fresh}}, []string{"c"}},
		"an active one at last":   {[]step{{"a", other, active}, {"b", other, active}, {"c", other, active}, {"d", other, fresh}}, []string{"a"}},
		"not of who has few":      {[]step{{"probe", kubelet, idle}, {"a", other, active}, {"b", other, active}, {"c", other, fresh}}, []string{"a"}},
		"nor does it take long":   {[]step{{"a", other, idle}, {"b", other, idle}, {"c", other, idle}, {"probe", kubelet, active}, {"d", other, idle}}, []string{"a", "b"}},
		"one of each":             {[]step{{"a", other, active}, {"b", more, idle}, {"probe", kubelet, fresh}, {"c", "10.0.0.7", fresh}}, []string{"b"}},
		"what has ended is none":  {[]step{{"a", other, ended}, {"b", other, ended}, {"c", other, ended}, {"d", other, ended}}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var closed []string
			c := newConnections(Limits{Connections: 3})
			now := time.Now()
			c.now = func() time.Time { return now }
			for _, s := range tt.steps {
				conn := &client{name: s.name, peer: s.peer, closed: &closed}
				now = now.Add(grace)
				if wait := c.makeRoom(); wait != 0 {
					t.Errorf("%s has to wait for %s", s.name, wait)
				}
				for _, state := range s.states {
					c.track(conn, state)
				}
				if len(c.open) > c.most {
					t.Errorf("%d connections are open", len(c.open))
				}
			}
			if diff := cmp.Diff(tt.want, closed); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGrace: a connection whose request may be on the way is not closed; a new connection waits
// instead.
func TestGrace(t *testing.T) {
	var closed []string
	c := newConnections(Limits{Connections: 2})
	now := time.Now()
	c.now = func() time.Time { return now }
	first, second := &client{name: "a", peer: "10.0.0.1", closed: &closed}, &client{name: "b", peer: "10.0.0.2", closed: &closed}
	c.track(first, http.StateNew)
	now = now.Add(grace / 2)
	c.track(second, http.StateNew)
	if wait := c.makeRoom(); wait != grace/2 || len(closed) > 0 {
		t.Errorf("it waits for %s, want %s; %v are closed", wait, grace/2, closed)
	}
	// An idle connection has been answered.
	c.track(second, http.StateIdle)
	if wait := c.makeRoom(); wait != 0 || !cmp.Equal(closed, []string{"b"}) {
		t.Errorf("it waits for %s; %v are closed", wait, closed)
	}
	c.track(second, http.StateNew)
	now = now.Add(grace / 2)
	if wait := c.makeRoom(); wait != 0 || !cmp.Equal(closed, []string{"b", "a"}) {
		t.Errorf("later, it waits for %s; %v are closed", wait, closed)
	}
}

// TestRequestsOfAConnectionWait: a single client cannot keep the instance busy.
func TestRequestsOfAConnectionWait(t *testing.T) {
	const requestBurst = 50
	c := newConnections(Limits{Connections: 1, RequestRate: 10, RequestBurst: requestBurst})
	conn := &client{peer: "10.0.0.9", closed: new([]string)}
	c.track(conn, http.StateNew)
	answered := 0
	handler := paced(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered++ }))
	gone, cancel := context.WithCancel(c.attach(t.Context(), conn))
	cancel()
	for range 10 * requestBurst {
		handler.ServeHTTP(nil, (&http.Request{}).WithContext(gone))
	}
	if answered != 0 {
		t.Errorf("%d requests of a client that is gone were answered", answered)
	}
	// A request that would have to wait beyond its deadline is refused at once.
	soon, cancel := context.WithTimeout(c.attach(t.Context(), conn), time.Millisecond)
	defer cancel()
	for range 10 * requestBurst {
		handler.ServeHTTP(nil, (&http.Request{}).WithContext(soon))
	}
	if answered > requestBurst+1 {
		t.Errorf("%d requests were answered at once", answered)
	}
}
