package manager

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"example.com/nginx-operator/internal/httpserver"
	"example.com/nginx-operator/internal/kube/webhookcert"
)

// metricsLimits bound the clients of the metrics, which the whole pod network can reach. A scrape sends no body.
var metricsLimits = httpserver.Limits{
	Connections: 64, Header: 64 << 10, ReadHeader: 5 * time.Second, Read: 5 * time.Second, Write: 30 * time.Second, Idle: 2 * time.Minute,
	RequestRate: 10, RequestBurst: 50, Streams: 4,
}

// maxScrapes bounds the scrapes that are answered at a time.
const maxScrapes = 2

// addServer adds a server, which listens at once. The manager starts those of this type before it fills caches, in every
// replica.
func addServer(ctx context.Context, mgr ctrl.Manager, name, address string, handler http.Handler, l httpserver.Limits, encrypt *tls.Config) error {
	listener, err := httpserver.Listen(ctx, address)
	if err != nil {
		return err
	}
	server, listener := httpserver.New(handler, l, log.New(connectionFailures{}, "", 0)).Parts(listener, encrypt)
	return mgr.Add(&manager.Server{Name: name, Server: server, Listener: listener, ShutdownTimeout: new(shutdownTimeout)})
}

// connectionFailures logs what fails in connections, such as handshakes. Anyone can cause them.
type connectionFailures struct{}

// Write implements io.Writer.
func (connectionFailures) Write(line []byte) (int, error) {
	ctrl.Log.V(1).Info("a connection failed", "cause", string(line))
	return len(line), nil
}

// probes returns the handler of the operator's health.
func probes(mgr ctrl.Manager, options Options, certificates *webhookcert.Controller) http.Handler {
	ready := map[string]healthz.Checker{}
	if options.ConversionWebhook {
		ready["webhook-server"] = mgr.GetWebhookServer().StartedChecker()
		if options.WebhookCertDir == "" {
			ready["webhook-certificate"] = certificates.Ready
		}
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": {}, "/readyz": ready} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return mux
}

// addServers adds the servers of probes and metrics.
func addServers(ctx context.Context, mgr ctrl.Manager, options Options, probes http.Handler) error {
	if options.HealthAddress != "" && options.HealthAddress != "0" {
		if err := addServer(ctx, mgr, "health probe", options.HealthAddress, probes, httpserver.ProbeLimits(), nil); err != nil {
			return err
		}
	}
	if options.MetricsAddress == "0" {
		return nil
	}
	handler, err := metricsHandler(mgr, options)
	if err != nil {
		return err
	}
	encrypt, err := metricsEncryption(options)
	if err != nil {
		return err
	}
	return addServer(ctx, mgr, "metrics", options.MetricsAddress, handler, metricsLimits, encrypt)
}

// metricsHandler returns the handler of the metrics, for clients that the API server allows if they are secure.
func metricsHandler(mgr ctrl.Manager, options Options) (http.Handler, error) {
	handler := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxScrapes})
	if options.MetricsSecure {
		filter, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return nil, err
		}
		if handler, err = filter(ctrl.Log.WithName("metrics"), handler); err != nil {
			return nil, err
		}
		handler = limitTokens(handler)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	return mux, nil
}

// metricsEncryption returns a configuration of TLS with a certificate that nobody has signed, as those of other components
// of Kubernetes; nil: the metrics are not secure.
func metricsEncryption(options Options) (*tls.Config, error) {
	if !options.MetricsSecure {
		return nil, nil
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{{127, 0, 0, 1}}, nil, "")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}
