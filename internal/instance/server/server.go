// Package server answers the operator, the kubelet, Prometheus and users over HTTP. The only change that a
// client can make is to send an order that the operator has signed.
package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/nginx-operator/internal/httpserver"
	"example.com/nginx-operator/internal/instance/cachevolume"
	"example.com/nginx-operator/internal/instance/health"
	"example.com/nginx-operator/internal/instance/orders"
	"example.com/nginx-operator/internal/instance/purge"
	"example.com/nginx-operator/internal/instance/window"
	"example.com/nginx-operator/internal/instanceapi"
)

// answerTimeout bounds an answer.
const answerTimeout = 10 * time.Second

// limits bound what clients use, because the whole pod network can reach the server. The kubelet, the operator and
// Prometheus need a few connections.
var limits = httpserver.Limits{
	Connections: 256,
	Header:      8 << 10,
	ReadHeader:  5 * time.Second,
	Read:        5 * time.Second,
	Write:       answerTimeout,
	// Idle is longer than the operator keeps an unused connection, so that it never sends a request on one that is about
	// to be closed.
	Idle:         10 * time.Second,
	RequestRate:  10,
	RequestBurst: 50,
}

// Sources are the sources of the responses.
type Sources struct {
	Doctor  *health.Doctor
	Metrics prometheus.Gatherer
	// Recent holds the requests of the last hour; nil: requests are not measured.
	Recent *window.Ring
	// InProgress returns the number of requests that nginx handles; nil: it is unknown.
	InProgress func(context.Context) int64
	// Orders receives the operator's orders, and Supervisor carries them out.
	Orders     *orders.Receiver
	Supervisor Supervisor
	// Purges carries out purges; nil: the pod has no cache.
	Purges *purge.Keeper
	// Cache is the volume of the cache; nil: the pod has none.
	Cache *cachevolume.Volume
}

// Supervisor carries out orders, and answers users.
type Supervisor interface {
	// Order takes the place of what was requested before, or returns why it does not. It does not block.
	Order(order instanceapi.Order, contents instanceapi.Contents) instanceapi.Refusal
	// Await returns once what is requested has been carried out, or when ctx is done.
	Await(ctx context.Context, requested instanceapi.Requested)
	// ServedConfig and TestConfig answer users.
	ServedConfig(ctx context.Context) (instanceapi.ServedConfig, error)
	TestConfig(ctx context.Context, user map[string]string) (instanceapi.ConfigTest, error)
}

// Handler returns the handler of all paths.
func Handler(s Sources) http.Handler {
	mux := http.NewServeMux()
	// Compression would take almost a mebibyte for each response.
	scraped := &gatherer{Gatherer: s.Metrics, now: time.Now}
	mux.HandleFunc("GET "+instanceapi.PathLive, func(w http.ResponseWriter, _ *http.Request) {
		answerText(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET "+instanceapi.PathReady, func(w http.ResponseWriter, _ *http.Request) {
		if reason := s.Doctor.NotReadyReason(); reason != "" {
			answerText(w, http.StatusServiceUnavailable, reason)
			return
		}
		answerText(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET "+instanceapi.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		answerStatus(w, s.status())
	})
	mux.HandleFunc("GET "+instanceapi.PathRequests, s.requests)
	mux.HandleFunc("POST "+instanceapi.PathOrders, s.orders)
	if s.Purges != nil {
		mux.HandleFunc("POST "+instanceapi.PathPurges, s.purge)
	}
	users := newConfigs(s.Supervisor)
	mux.HandleFunc("GET "+instanceapi.PathConfig, users.only(users.show))
	mux.HandleFunc("POST "+instanceapi.PathConfigTest, users.only(users.test))
	mux.Handle("GET "+instanceapi.PathMetrics, promhttp.HandlerFor(scraped, promhttp.HandlerOpts{DisableCompression: true}))
	return mux
}

// status returns the status, with what the operator has to know to send an order.
func (s Sources) status() instanceapi.Status {
	status := s.Doctor.Examine().Status
	status.Orders = s.Orders.Describe()
	status.Purged, status.Cache = s.Purges.Report(), s.Cache.Report()
	return status
}

// purge receives purges, waits until they are carried out, and answers with what has been carried out. The rest of the
// status would cost more than the purge.
func (s Sources) purge(w http.ResponseWriter, r *http.Request) {
	purges, refusal := s.Orders.ReceivePurges(r)
	if refusal != "" {
		answerText(w, refusal.Code(), string(refusal))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), instanceapi.OrderWait)
	defer cancel()
	// The report says what failed, or has not been carried out yet.
	_ = s.Purges.Apply(ctx, purges)
	answerStatus(w, instanceapi.Status{
		Protocol: instanceapi.Protocol, Version: s.Doctor.Version, Purged: s.Purges.Report(), Orders: s.Orders.Describe(),
	})
}

// orders receives an order, waits until it is carried out, and answers with the status.
func (s Sources) orders(w http.ResponseWriter, r *http.Request) {
	requested, refusal := s.Orders.Receive(r, s.Supervisor.Order)
	if refusal != "" {
		answerText(w, refusal.Code(), string(refusal))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), instanceapi.OrderWait)
	defer cancel()
	s.Supervisor.Await(ctx, requested)
	answerStatus(w, s.status())
}

// requests answers with the results of the requests of the last seconds.
func (s Sources) requests(w http.ResponseWriter, r *http.Request) {
	if s.Recent == nil {
		answerText(w, http.StatusNotFound, "requests are not measured")
		return
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get(instanceapi.ParameterSeconds))
	if err != nil || seconds < 1 || seconds > instanceapi.MaxWindow {
		answerText(w, http.StatusBadRequest, fmt.Sprintf("%s must be a number from 1 to %d", instanceapi.ParameterSeconds, instanceapi.MaxWindow))
		return
	}
	window := s.Recent.Last(r.URL.Query().Get(instanceapi.ParameterRevision), time.Duration(seconds)*time.Second)
	if s.InProgress != nil {
		window.InProgress = s.InProgress(r.Context())
	}
	answerJSON(w, window)
}

func answerJSON(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(content); err != nil {
		slog.Debug("answer", "error", err)
	}
}

// answerStatus answers with a status that is short enough for the operator.
func answerStatus(w http.ResponseWriter, status instanceapi.Status) {
	text, err := status.Encode()
	if err != nil {
		answerText(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// An error means that the client has gone away.
	_, _ = w.Write(append(text, '\n'))
}

func answerText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// An error means that the prober has gone away.
	_, _ = fmt.Fprintln(w, text)
}

// Serve listens on the address and answers in the background until ctx is done.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	listener, err := httpserver.Listen(ctx, address)
	if err != nil {
		return fmt.Errorf("answer requests: %w", err)
	}
	server := httpserver.New(handler, limits, slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug))
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener, nil); err != nil {
			slog.Error("answer requests", "error", err)
		}
	}()
	return nil
}
