// Package webhookserver ends a webhook server without failing a request.
//
// The API server keeps connections to a webhook open and sends the next request on one
// of them. A server that closes its idle connections when it is told to end, as
// http.Server does, fails the request that is being sent at that moment: it is a POST,
// which nobody repeats. So the server goes on for a while in which every answer asks the
// client to close the connection. Those that are in use are gone by the end of it; new
// ones do not come, because the endpoints have forgotten the pod.
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

// Server is a webhook.Server that takes its leave.
type Server struct {
	webhook.Server
	leave   time.Duration
	leaving atomic.Bool
}

// New returns a server that goes on for leave when it is told to end.
func New(server webhook.Server, leave time.Duration) *Server {
	return &Server{Server: server, leave: leave}
}

// Register implements webhook.Server.
func (s *Server) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.leaving.Load() {
			// In HTTP/2, net/http makes a GOAWAY of it.
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
		s.leaving.Store(true)
		time.AfterFunc(s.leave, stop)
	})
	defer unregister()
	return s.Server.Start(serving)
}

var errLeaving = errors.New("the webhook server is about to end")

// StartedChecker implements webhook.Server.
func (s *Server) StartedChecker() healthz.Checker {
	started := s.Server.StartedChecker()
	return func(r *http.Request) error {
		if s.leaving.Load() {
			return errLeaving
		}
		return started(r)
	}
}
