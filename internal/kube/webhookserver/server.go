// Package webhookserver ends a webhook server without failing a request.
//
// The API server keeps connections to a webhook open and sends the next request on one of them. A server that closes
// its idle connections on shutdown, as http.Server does, fails a request that is being sent at that moment: it is a
// POST, which is not repeated. So this server continues for a while, in which every answer asks the client to close
// the connection. By the end, the connections in use are gone; new ones do not come, because the endpoints no longer
// contain the pod.
package webhookserver

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Server is a webhook.Server that shuts down without failing a request.
type Server struct {
	webhook.Server
	leave    time.Duration
	stopping atomic.Bool
}

// New returns a server that continues for leave after its context ends.
func New(server webhook.Server, leave time.Duration) *Server {
	return &Server{Server: server, leave: leave}
}

// Register implements webhook.Server.
func (s *Server) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			// In HTTP/2, net/http turns it into a GOAWAY.
			w.Header().Set("Connection", "close")
		}
		hook.ServeHTTP(w, r)
	}))
}

// Start implements webhook.Server.
func (s *Server) Start(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	unregister := context.AfterFunc(ctx, func() {
		s.stopping.Store(true)
		time.AfterFunc(s.leave, stop)
	})
	defer unregister()
	return s.Server.Start(serving)
}

var errStopping = errors.New("the webhook server is shutting down")

// StartedChecker implements webhook.Server.
func (s *Server) StartedChecker() healthz.Checker {
	started := s.Server.StartedChecker()
	return func(r *http.Request) error {
		if s.stopping.Load() {
			return errStopping
		}
		return started(r)
	}
}
