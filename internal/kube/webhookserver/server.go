// Package webhookserver bounds the requests of a webhook server, and ends it without failing one.
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

	"example.com/nginx-operator/internal/httpserver"
	"example.com/nginx-operator/internal/jsonbounds"
)

// reviewLimits bound what clients of the webhook use, because the whole pod network can reach it. An API server converts the
// objects of a list one by one when it reads them from its store. A request to it has at most 3 MiB, and a stored object
// usually at most 1.5 MiB.
var reviewLimits = httpserver.BodyLimits{
	JSON:     jsonbounds.Limits{Bytes: 8 << 20, Elements: 200_000, Depth: 100},
	Buffered: 32 << 20,
	Handled:  8 << 20,
	Requests: 256,
}

// Server is a webhook.Server that bounds its requests and shuts down without failing one.
type Server struct {
	webhook.Server
	limits   httpserver.BodyLimits
	leave    time.Duration
	stopping atomic.Bool
}

// New returns a server that continues for leave after its context ends.
func New(server webhook.Server, leave time.Duration) *Server {
	return &Server{Server: server, limits: reviewLimits, leave: leave}
}

// Register implements webhook.Server.
func (s *Server) Register(path string, hook http.Handler) {
	bounded := httpserver.Bodies(hook, s.limits)
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			// In HTTP/2, net/http turns it into a GOAWAY.
			w.Header().Set("Connection", "close")
		}
		bounded.ServeHTTP(w, r)
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
