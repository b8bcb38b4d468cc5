package webhookserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// plain is a webhook.Server without TLS that stops like controller-runtime's.
type plain struct {
	mux      *http.ServeMux
	listener net.Listener
}

func (p *plain) NeedLeaderElection() bool                { return false }
func (p *plain) Register(path string, hook http.Handler) { p.mux.Handle(path, hook) }
func (p *plain) StartedChecker() healthz.Checker         { return healthz.Ping }
func (p *plain) WebhookMux() *http.ServeMux              { return p.mux }

func (p *plain) Start(ctx context.Context) error {
	server := &http.Server{Handler: p.mux}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ended <- server.Shutdown(context.WithoutCancel(ctx))
	}()
	if err := server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// TestNoRequestFails: when the server stops while a client sends one POST after the other on a
// single connection, every request is answered, and the client is asked to close the connection
// before the server does.
func TestNoRequestFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := New(&plain{mux: http.NewServeMux(), listener: listener}, 300*time.Millisecond)
	server.Register("/convert", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
	}))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()

	c := &poster{url: "http://" + listener.Addr().String() + "/convert"}
	c.client.Transport = &http.Transport{DialContext: c.dial}
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
