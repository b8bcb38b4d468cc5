package webhookserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// serve starts a server, and returns its URL and how it ended.
func serve(ctx context.Context, t *testing.T, leave time.Duration, hook http.HandlerFunc) (*Server, string, chan error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	issuer := httptest.NewTLSServer(hook)
	certificate := issuer.TLS.Certificates[0]
	issuer.Close()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	server := New(Options{Port: port, Leave: leave, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }})
	server.Register("/convert", hook)
	if err := server.StartedChecker()(nil); err == nil {
		t.Error("it is ready before it has started")
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	awaitStart(ctx, t, server)
	return server, "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/convert", ended
}

// awaitStart fails the test unless a server starts within a minute, which does not measure speed.
func awaitStart(ctx context.Context, t *testing.T, server *Server) {
	t.Helper()
	started := func(context.Context) (bool, error) { return server.StartedChecker()(nil) == nil, nil }
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, started); err != nil {
		t.Fatalf("the server starts: %v", err)
	}
}

// TestNoRequestFails: when the server stops while a client sends one POST after the other on a
// single connection, every request is answered, and the client is asked to close the connection
// before the server does.
func TestNoRequestFails(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	server, url, ended := serve(ctx, t, 300*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
	})
	c := &poster{url: url}
	c.client.Transport = &http.Transport{DialContext: c.dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for range 20 {
		if c.post(t) {
			t.Fatal("the client is asked to close although nothing ends")
		}
	}
	if n := c.dialed.Load(); n != 1 {
		t.Fatalf("%d connections for requests one after the other", n)
	}
	if err := server.StartedChecker()(nil); err != nil {
		t.Fatal(err)
	}
	end()
	deadline := time.Now().Add(time.Minute)
	for !c.post(t) {
		if time.Now().After(deadline) {
			t.Fatal("the client is never asked to close")
		}
	}
	if err := server.StartedChecker()(nil); err == nil {
		t.Error("it is ready although it is about to end")
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// poster sends POST requests, and counts its connections.
type poster struct {
	client http.Client
	url    string
	dialed atomic.Int32
}

func (p *poster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p.dialed.Add(1)
	return new(net.Dialer).DialContext(ctx, network, address)
}

// post reports whether the client is asked to close the connection.
func (p *poster) post(t *testing.T) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.Close
}
