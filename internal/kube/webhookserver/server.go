// Package webhookserver serves webhooks within bounds, and ends without failing a request.
//
// The API server keeps connections to a webhook open and sends the next request on one of them. A server that closes
// its idle connections on shutdown, as http.Server does, fails a request that is being sent at that moment: it is a
// POST, which is not repeated. So this server continues for a while, in which every answer asks the client to close
// the connection. By the end, the connections in use are gone; new ones do not come, because the endpoints no longer
// contain the pod.
package webhookserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/httpserver"
)

// reviewLimits bound what clients of the webhook use, because the whole pod network can reach it. An API server converts the
// objects of a list one by one when it reads them from its store. A request to it has at most 3 MiB, and a stored object
// usually at most 1.5 MiB.
var reviewLimits = httpserver.BodyLimits{
	JSON:     boundedjson.Limits{Bytes: 8 << 20, Depth: 100, Items: 200_000, Values: 200_000, String: 8 << 20},
	Buffered: 32 << 20,
	// A converted object is about as large as it was.
	Answer:  16 << 20,
	Handled: 16 << 20,
	// An empty container takes 250 bytes once it is decoded, and as much again while its list grows.
	ValueMemory: 512,
	Requests:    256,
}

// limits bound the connections. An API server waits up to 30 s for an answer and, with HTTP/2, sends all its requests on a
// few connections. Idle is longer than it keeps an unused connection.
var limits = httpserver.Limits{
	Connections: 128,
	Header:      16 << 10,
	ReadHeader:  10 * time.Second,
	Read:        15 * time.Second,
	Write:       45 * time.Second,
	Idle:        2 * time.Minute,
	Streams:     32,
}

// endTimeout is how long requests may take to end after the server has left.
const endTimeout = time.Minute

// Options are the settings of a server.
type Options struct {
	Port int
	// GetCertificate returns the certificate; nil: it is read from tls.crt and tls.key in CertDir, again when they change.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	CertDir        string
	// Leave is how long the server continues after its context ends.
	Leave time.Duration
}

// Server is a webhook.Server that bounds its requests and shuts down without failing one.
type Server struct {
	// Server registers the webhooks, with their metrics. It is never started.
	webhook.Server
	options           Options
	mux               *http.ServeMux
	started, stopping atomic.Bool
}

// New returns a server.
func New(o Options) *Server {
	mux := http.NewServeMux()
	return &Server{Server: webhook.NewServer(webhook.Options{WebhookMux: mux}), options: o, mux: mux}
}

// Register implements webhook.Server.
func (s *Server) Register(path string, hook http.Handler) {
	bounded := httpserver.Bodies(hook, reviewLimits)
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
		time.AfterFunc(s.options.Leave, stop)
	})
	defer unregister()
	config, err := s.encryption(serving)
	if err != nil {
		return err
	}
	listener, err := httpserver.Listen(ctx, net.JoinHostPort("", strconv.Itoa(s.options.Port)))
	if err != nil {
		return err
	}
	s.started.Store(true)
	return httpserver.New(s.mux, limits, log.New(failures{}, "", 0)).Run(serving, listener, config, endTimeout)
}

// encryption returns the configuration of TLS.
func (s *Server) encryption(ctx context.Context) (*tls.Config, error) {
	get := s.options.GetCertificate
	if get == nil {
		watcher, err := certwatcher.New(filepath.Join(s.options.CertDir, "tls.crt"), filepath.Join(s.options.CertDir, "tls.key"))
		if err != nil {
			return nil, err
		}
		get = watcher.GetCertificate
		go func() {
			if err := watcher.Start(ctx); err != nil {
				ctrllog.Log.Error(err, "watch the webhook's certificate")
			}
		}()
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}, nil
}

// failures logs what fails in connections, such as handshakes. Anyone can cause them.
type failures struct{}

// Write implements io.Writer.
func (failures) Write(line []byte) (int, error) {
	ctrllog.Log.V(1).Info("a connection to the webhook failed", "cause", string(line))
	return len(line), nil
}

var (
	errStopping   = errors.New("the webhook server is shutting down")
	errNotStarted = errors.New("the webhook server has not started")
)

// StartedChecker implements webhook.Server.
func (s *Server) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		switch {
		case s.stopping.Load():
			return errStopping
		case !s.started.Load():
			return errNotStarted
		}
		return nil
	}
}
