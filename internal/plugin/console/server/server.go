package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"example.com/nginx-operator/internal/plugin/console"
)

const (
	// maxStreams bounds the open streams. A page has at most two.
	maxStreams, maxStreamsOfViewer = 400, 16
	// maxConnections bounds the connections: browsers open up to six for HTTP/1.1, and one for HTTP/2.
	maxConnections = 1000
	maxHeader      = 64 << 10
	// writeTimeout bounds all answers but streams, which have a timeout for each line.
	writeTimeout = 2 * time.Minute
	// shutdownTimeout is how long requests other than streams may take to end.
	shutdownTimeout = 10 * time.Second
)

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
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return fmt.Errorf("--bind-address: %w", err)
	}
	logger.Info("serving the console", "address", listener.Addr().String(), "tls", certificate != nil)
	server := &http.Server{
		Handler: newHandler(ctx, console.Options{
			Viewers: console.NewSignedIn(api), SignIn: true, Hosts: o.Hosts, Cluster: o.Cluster,
			MaxStreams: maxStreams, MaxStreamsOfViewer: maxStreamsOfViewer,
		}),
		ReadHeaderTimeout: 10 * time.Second, WriteTimeout: writeTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: errorLog(logger),
	}
	listener = netutil.LimitListener(listener, maxConnections)
	if certificate == nil {
		return serve(ctx, server, func() error { return server.Serve(listener) })
	}
	return serveTLS(ctx, server, listener, certificate)
}

// newHandler returns the handler of the console and of the probes. The kubelet requests the address of the pod, which is
// none of the hosts.
func newHandler(ctx context.Context, o console.Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", console.New(ctx, o))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write([]byte("ok\n")) // An error means that the client has left.
	})
	return mux
}

// serveTLS serves with a certificate, and with each new one that replaces its files. It does not serve if these cannot be
// watched: the certificate would expire.
func serveTLS(ctx context.Context, server *http.Server, listener net.Listener, certificate *certwatcher.CertWatcher) error {
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.GetCertificate}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := certificate.Start(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch the certificate: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		return serve(ctx, server, func() error { return server.ServeTLS(listener, "", "") })
	})
	return group.Wait()
}

// serve serves until the context ends. The streams end with it; other requests have shutdownTimeout to end.
func serve(ctx context.Context, server *http.Server, accept func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- accept() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

// errorLog logs what the HTTP server reports, such as failed handshakes. It reports no header and no body.
func errorLog(logger logr.Logger) *log.Logger {
	return slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelInfo)
}
