package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	"example.com/nginx-operator/internal/httpserver"
	"example.com/nginx-operator/internal/plugin/console"
)

// maxStreams bounds the open streams. A page has at most two.
const maxStreams, maxStreamsOfViewer = 400, 16

// limits bound what clients use. Browsers open up to six connections for HTTP/1.1, and one for HTTP/2. Streams set their own
// timeouts, one for each line.
var limits = httpserver.Limits{
	Connections: 1000, Header: 64 << 10, ReadHeader: 10 * time.Second, Read: time.Minute, Write: 2 * time.Minute, Idle: time.Minute, Streams: 64,
}

// shutdownTimeout is how long requests other than streams may take to end.
const shutdownTimeout = 10 * time.Second

// Run serves the console until the context ends.
func Run(ctx context.Context, o Options, logger logr.Logger) error {
	if err := o.validate(); err != nil {
		return err
	}
	api, err := o.apiServer()
	if err != nil {
		return err
	}
	certificate, err := o.certificate()
	if err != nil {
		return err
	}
	listener, err := httpserver.Listen(ctx, o.Address)
	if err != nil {
		return fmt.Errorf("--bind-address: %w", err)
	}
	health, err := httpserver.Listen(ctx, o.HealthAddress)
	if err != nil {
		return errors.Join(fmt.Errorf("--health-probe-bind-address: %w", err), listener.Close())
	}
	logger.Info("serving the console", "address", listener.Addr().String(), "tls", certificate != nil, "health", health.Addr().String())
	group, ctx := errgroup.WithContext(ctx)
	var encrypt *tls.Config
	if certificate != nil {
		encrypt = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.GetCertificate}
		// It does not serve if the files cannot be watched: the certificate would expire.
		group.Go(func() error {
			if err := certificate.Start(ctx); err != nil && ctx.Err() == nil {
				return fmt.Errorf("watch the certificate: %w", err)
			}
			return nil
		})
	}
	handler := newHandler(ctx, console.Options{
		Viewers: console.NewSignedIn(api), SignIn: true, Hosts: o.Hosts, Cluster: o.Cluster,
		MaxStreams: maxStreams, MaxStreamsOfViewer: maxStreamsOfViewer,
	})
	group.Go(func() error {
		return httpserver.New(handler, limits, errorLog(logger)).Run(ctx, listener, encrypt, shutdownTimeout)
	})
	// Guests cannot use up the connections of the kubelet.
	group.Go(func() error {
		return httpserver.New(http.HandlerFunc(healthy), httpserver.ProbeLimits(), errorLog(logger)).Run(ctx, health, nil, shutdownTimeout)
	})
	return group.Wait()
}

// newHandler returns the handler of the console and of the probes. The kubelet requests the address of the pod, which is
// none of the hosts.
func newHandler(ctx context.Context, o console.Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", console.New(ctx, o))
	mux.HandleFunc("GET /healthz", healthy)
	return mux
}

// healthy answers a probe.
func healthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte("ok\n")) // An error means that the client has left.
}

// errorLog logs what the HTTP server reports, such as failed handshakes. It reports no header and no body.
func errorLog(logger logr.Logger) *log.Logger {
	return slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelInfo)
}
