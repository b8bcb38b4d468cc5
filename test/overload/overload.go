// Package overload attacks the limits of a listener, in a network in memory whose time is simulated.
package overload

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/nginx-operator/internal/httpserver"
)

// slack is how much later than its timeout a connection may end.
const slack = time.Second

// Listener runs a test for each limit of a listener, with ten times as much as the limit allows.
func Listener(t *testing.T, l httpserver.Limits) {
	t.Helper()
	for name, attack := range map[string]func(*testing.T, *network, httpserver.Limits){
		"connections": connections, "header bytes": headerBytes, "header time": headerTime, "body time": bodyTime,
		"idle time": idleTime, "unread answer": unreadAnswer, "requests": requests,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &network{conns: make(chan net.Conn), closed: make(chan struct{}), ended: make(chan time.Duration, 1)}
				server := httpserver.New(n, l, nil)
				done := make(chan error)
				go func() { done <- server.Serve(n, nil) }()
				attack(t, n, l)
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				// The server waits a moment for clients that it has refused.
				time.Sleep(10 * slack) //nolint:forbidigo // the time is simulated
			})
		})
	}
}

// network is a listener in memory, and a handler.
type network struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	// open is the number of open connections, and most the greatest so far. read is the number of bytes that the server has read.
	open, most, read atomic.Int64
	// ended receives how long a request with a body or an endless answer took.
	ended chan time.Duration
}

// ServeHTTP answers endlessly, or reads the body.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start, piece := time.Now(), make([]byte, 64<<10)
	for r.URL.Path == "/endless" {
		if _, err := w.Write(piece); err != nil {
			n.ended <- time.Since(start)
			return
		}
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		n.ended <- time.Since(start)
	}
}

// Accept implements net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.conns:
		n.most.Store(max(n.most.Load(), n.open.Add(1)))
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// Addr implements net.Listener.
func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// dial opens a connection from a peer.
func (n *network) dial(t *testing.T, peer byte) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	n.conns <- &accepted{Conn: server, network: n, peer: peer}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// accepted is the server's end of a connection.
type accepted struct {
	net.Conn
	network *network
	peer    byte
	once    sync.Once
}

// RemoteAddr implements net.Conn.
func (a *accepted) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, a.peer}), 1024))
}

// Read implements net.Conn.
func (a *accepted) Read(p []byte) (int, error) {
	read, err := a.Conn.Read(p)
	a.network.read.Add(int64(read))
	return read, err
}

// Close implements net.Conn.
func (a *accepted) Close() error {
	a.once.Do(func() { a.network.open.Add(-1) })
	return a.Conn.Close()
}

// request sends a request on a connection and returns the code of its answer.
func request(conn net.Conn, answers *bufio.Reader) (int, error) {
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// connections: however many connections a peer opens, those of others are answered, on new connections and on open ones.
func connections(t *testing.T, n *network, l httpserver.Limits) {
	for range 10 * l.Connections {
		n.dial(t, 1)
	}
	// From now on, no connection is protected because it is new.
	pause := func() { time.Sleep(100 * time.Millisecond) } //nolint:forbidigo // the time is simulated
	pause()
	other := n.dial(t, 2)
	answers := bufio.NewReader(other)
	for i := range 10 {
		if code, err := request(other, answers); err != nil || code != http.StatusOK {
			t.Fatalf("answer %d of another peer is %d (%v)", i, code, err)
		}
		n.dial(t, 1)
		pause()
	}
	if most := n.most.Load(); most > int64(l.Connections) {
		t.Errorf("%d connections were open, want at most %d", most, l.Connections)
	}
}

// headerBytes: no more of a header is read than its limit, and what net/http adds.
func headerBytes(t *testing.T, n *network, l httpserver.Limits) {
	conn := n.dial(t, 1)
	go func() {
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 10*l.Header))
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("the answer is %+v (%v)", response, err)
	}
	if read := n.read.Load(); read > int64(l.Header)+8<<10 {
		t.Errorf("%d bytes were read, want about %d", read, l.Header)
	}
}

// trickle sends a byte at a time until the connection ends, or ten times as long as the limit, and returns how long it took.
func trickle(conn net.Conn, limit time.Duration) time.Duration {
	start := time.Now()
	for time.Since(start) < 10*limit {
		if _, err := io.WriteString(conn, "x"); err != nil {
			break
		}
		time.Sleep(limit / 20) //nolint:forbidigo // the time is simulated
	}
	return time.Since(start)
}

func headerTime(t *testing.T, n *network, l httpserver.Limits) {
	conn := n.dial(t, 1)
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nX: "); err != nil {
		t.Fatal(err)
	}
	if took := trickle(conn, l.ReadHeader); took > l.ReadHeader+l.ReadHeader/20+slack {
		t.Errorf("the header took %s, want at most %s", took, l.ReadHeader)
	}
}

func bodyTime(t *testing.T, n *network, l httpserver.Limits) {
	conn := n.dial(t, 1)
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 1<<20); err != nil {
		t.Fatal(err)
	}
	go trickle(conn, l.Read)
	if took := <-n.ended; took > l.Read+slack {
		t.Errorf("the body took %s, want at most %s", took, l.Read)
	}
}

func idleTime(t *testing.T, n *network, l httpserver.Limits) {
	conn := n.dial(t, 1)
	answers := bufio.NewReader(conn)
	if _, err := request(conn, answers); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := answers.ReadByte(); err == nil || time.Since(start) > l.Idle+slack {
		t.Errorf("the idle connection ended after %s (%v), want %s", time.Since(start), err, l.Idle)
	}
}

func unreadAnswer(t *testing.T, n *network, l httpserver.Limits) {
	if _, err := io.WriteString(n.dial(t, 1), "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if took := <-n.ended; took > l.Write+slack {
		t.Errorf("the answer took %s, want at most %s", took, l.Write)
	}
}

// requests: those of a connection wait beyond the rate.
func requests(t *testing.T, n *network, l httpserver.Limits) {
	if l.RequestRate == 0 {
		return
	}
	conn := n.dial(t, 1)
	answers, start := bufio.NewReader(conn), time.Now()
	for range 10 * l.RequestBurst {
		if code, err := request(conn, answers); err != nil || code != http.StatusOK {
			t.Fatalf("the answer is %d (%v)", code, err)
		}
	}
	if took, least := time.Since(start), time.Duration(9*l.RequestBurst/l.RequestRate)*time.Second; took < least-slack {
		t.Errorf("%d requests took %s, want at least %s", 10*l.RequestBurst, took, least)
	}
}
