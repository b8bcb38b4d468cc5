package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/boundedjson"
)

var small = BodyLimits{JSON: boundedjson.Limits{Bytes: 1 << 20, Depth: 20, Items: 1000, Values: 1000, String: 1 << 20}, Answer: 4 << 20, Buffered: 4 << 20, Handled: 1 << 20, Requests: 100}

// echo is a handler that answers with the body.
func echo(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.Copy(w, r.Body)
}

func TestBodies(t *testing.T) {
	server := httptest.NewServer(Bodies(http.HandlerFunc(echo), small))
	t.Cleanup(server.Close)
	for name, tt := range map[string]struct {
		body string
		code int
	}{
		"none":              {"", 202},
		"a few bytes":       {`{"a": 1}`, 202},
		"exactly one piece": {strings.Repeat("a", pieceSize), 202},
		"more than one":     {strings.Repeat("a", 3*pieceSize+1), 202},
		"as long as may be": {strings.Repeat("a", 1<<20), 202},
		"a byte more":       {strings.Repeat("a", 1<<20+1), 413},
		"ten times as much": {strings.Repeat("a", 10<<20), 413},
		"many elements":     {"[" + strings.Repeat("{},", 10000) + "{}]", 413},
		"deep":              {strings.Repeat("[", 200), 413},
	} {
		for kind, body := range map[string]io.Reader{"known length": strings.NewReader(tt.body), "chunked": io.MultiReader(strings.NewReader(tt.body))} {
			t.Run(name+", "+kind, func(t *testing.T) {
				response, err := http.Post(server.URL, "application/json", body)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(response.Body)
				if err := errors.Join(err, response.Body.Close()); err != nil {
					t.Fatal(err)
				}
				if response.StatusCode != tt.code || tt.code == 202 && string(got) != tt.body {
					t.Errorf("%s with %d bytes, want %d with %d", response.Status, len(got), tt.code, len(tt.body))
				}
			})
		}
	}
}

// peerAddress makes each connection one of another client, as its first byte says. A test has only one address.
type peerAddress struct{ net.Listener }

type peerConn struct {
	net.Conn
	peer byte
}

func (l peerAddress) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	first := make([]byte, 1)
	if _, err := conn.Read(first); err != nil {
		return nil, err
	}
	return peerConn{conn, first[0]}, nil
}

func (c peerConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, c.peer}), 1024))
}

func servePeers(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Listener = peerAddress{server.Listener}
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func dialAs(t *testing.T, address string, peer byte) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write([]byte{peer}); err != nil {
		t.Fatal(err)
	}
	return conn
}

func send(t *testing.T, conn net.Conn, length int, body string) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", length, body); err != nil {
		t.Fatal(err)
	}
}

func clientOf(address string, peer byte) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			_, err = conn.Write([]byte{peer})
		}
		return conn, err
	}}}
}

func post(client *http.Client, address, body string) (int, error) {
	response, err := client.Post("http://"+address, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// TestSlowBodies: far more bytes than there is room for, sent slowly by one client, do not keep another one from being
// answered, and never more than the room is in memory.
func TestSlowBodies(t *testing.T) {
	shares := newShares(small)
	address := servePeers(t, shares.bodies(http.HandlerFunc(echo)))
	half := strings.Repeat("a", 1<<19)
	for range 50 {
		send(t, dialAs(t, address, 1), 1<<20, half)
	}
	client := clientOf(address, 2)
	for i := range 50 {
		code, err := post(client, address, half)
		if err != nil || code != 202 {
			t.Fatalf("request %d of another client: %d, %v", i, code, err)
		}
		shares.mu.Lock()
		if shares.buffered > small.Buffered {
			t.Errorf("%d bytes are in memory", shares.buffered)
		}
		shares.mu.Unlock()
	}
}

// TestUnreadAnswers: clients that do not read their answers do not keep others from being answered.
func TestUnreadAnswers(t *testing.T) {
	address := servePeers(t, Bodies(http.HandlerFunc(echo), small))
	whole := strings.Repeat("a", 1<<20)
	for range 20 {
		send(t, dialAs(t, address, 1), 1<<20, whole)
	}
	client := clientOf(address, 2)
	for i := range 20 {
		if code, err := post(client, address, whole); err != nil || code != 202 {
			t.Fatalf("request %d of another client: %d, %v", i, code, err)
		}
	}
}

// TestManyRequests: the client with the most requests loses one.
func TestManyRequests(t *testing.T) {
	address := servePeers(t, Bodies(http.HandlerFunc(echo), small))
	for range 3 * small.Requests {
		send(t, dialAs(t, address, 1), 10, "a")
	}
	if code, err := post(clientOf(address, 2), address, "{}"); err != nil || code != 202 {
		t.Fatalf("another client: %d, %v", code, err)
	}
}

// TestOrderOfClients: however many requests of one client wait, one of another client is the next.
func TestOrderOfClients(t *testing.T) {
	var mu sync.Mutex
	var order []string
	started, goOn := make(chan struct{}, 100), make(chan struct{})
	roomy := small
	roomy.Buffered = 8 << 20
	shares := newShares(roomy)
	address := servePeers(t, shares.bodies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		order = append(order, Peer(r).String())
		mu.Unlock()
		started <- struct{}{}
		<-goOn
	})))
	large := strings.Repeat("a", 1<<20)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() { _, _ = post(clientOf(address, 1), address, large) })
		shares.await(t, i+1)
	}
	<-started
	group.Go(func() { _, _ = post(clientOf(address, 2), address, large) })
	shares.await(t, 5)
	close(goOn)
	group.Wait()
	if diff := cmp.Diff([]string{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.1"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// await waits until so many requests have been read.
func (s *shares) await(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		s.mu.Lock()
		read := 0
		for c := range s.claims {
			if slices.Contains([]phase{waiting, handling}, c.phase) {
				read++
			}
		}
		s.mu.Unlock()
		if read == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d requests were read", read, n)
		}
	}
}

// TestHandledTogether: small bodies are handled at the same time, and not more bytes than allowed.
func TestHandledTogether(t *testing.T) {
	var now, most atomic.Int64
	started, goOn := make(chan struct{}, 100), make(chan struct{})
	address := servePeers(t, Bodies(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		started <- struct{}{}
		<-goOn
		now.Add(-1)
	}), small))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { _, _ = post(clientOf(address, byte(i)), address, strings.Repeat("a", 1<<18)) })
	}
	for range 4 {
		<-started
	}
	close(goOn)
	group.Wait()
	if n := most.Load(); n != 4 {
		t.Errorf("%d were handled at a time", n)
	}
}

// TestEnd: nothing is left of requests that ended in any way.
func TestEnd(t *testing.T) {
	shares := newShares(small)
	address := servePeers(t, shares.bodies(http.HandlerFunc(echo)))
	for i := range 20 {
		conn := dialAs(t, address, byte(i))
		send(t, conn, 1<<20, strings.Repeat("a", i<<14))
		_ = conn.Close()
	}
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		shares.mu.Lock()
		left, bytes := len(shares.claims)+len(shares.peers), shares.buffered+shares.handling
		shares.mu.Unlock()
		if left == 0 && bytes == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d requests and clients, %d bytes are left", left, bytes)
		}
	}
}
