// Package server answers the operator, the kubelet and Prometheus over HTTP. The one thing
// that can be done through it is to let the pod load what the operator has asked it to
// test, by a word of which the pod's annotation has the hash.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/nginx-operator/internal/instance/health"
	"example.com/nginx-operator/internal/instance/window"
	"example.com/nginx-operator/internal/instanceapi"
)

// Bounds of a request. The pod's network can reach the server.
const (
	requestTimeout = 5 * time.Second
	answerTimeout  = 10 * time.Second
	// idleTimeout is longer than the operator keeps a connection that it does not use, so
	// that it never asks on one that is about to be closed.
	idleTimeout = 10 * time.Second
	maxHeader   = 8 << 10
)

// Sources are where the answers come from.
type Sources struct {
	Doctor  *health.Doctor
	Metrics prometheus.Gatherer
	// Recent has the requests of the last hour; nil where they are not measured.
	Recent *window.Ring
	// Grant takes a word, and tells whether it is the right one.
	Grant func(word string) bool
}

// Handler returns the handler of all paths.
func Handler(s Sources) http.Handler {
	mux := http.NewServeMux()
	// Compression takes almost a mebibyte for each answer.
	scraped := &gatherer{Gatherer: s.Metrics, now: time.Now}
	mux.HandleFunc("GET "+instanceapi.PathLive, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET "+instanceapi.PathReady, func(w http.ResponseWriter, _ *http.Request) {
		if reason := s.Doctor.NotReady(); reason != "" {
			answer(w, http.StatusServiceUnavailable, reason)
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET "+instanceapi.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, s.Doctor.Examine().Status)
	})
	mux.HandleFunc("GET "+instanceapi.PathRequests, s.requests)
	mux.HandleFunc("POST "+instanceapi.PathLoad, func(w http.ResponseWriter, r *http.Request) {
		word, err := io.ReadAll(http.MaxBytesReader(w, r.Body, instanceapi.MaxWord))
		if err != nil || !s.Grant(string(word)) {
			answer(w, http.StatusForbidden, "this is not the word")
			return
		}
		answer(w, http.StatusAccepted, "ok")
	})
	mux.Handle("GET "+instanceapi.PathMetrics, promhttp.HandlerFor(scraped, promhttp.HandlerOpts{DisableCompression: true}))
	return paced(mux)
}

// requests answers what became of those of the last seconds.
func (s Sources) requests(w http.ResponseWriter, r *http.Request) {
	if s.Recent == nil {
		answer(w, http.StatusNotFound, "requests are not measured")
		return
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get(instanceapi.ParameterSeconds))
	if err != nil || seconds < 1 || seconds > instanceapi.MaxWindow {
		answer(w, http.StatusBadRequest, fmt.Sprintf("%s must be a number from 1 to %d", instanceapi.ParameterSeconds, instanceapi.MaxWindow))
		return
	}
	answerJSON(w, s.Recent.Last(r.URL.Query().Get(instanceapi.ParameterRevision), time.Duration(seconds)*time.Second))
}

func answerJSON(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(content); err != nil {
		slog.Debug("answer", "error", err)
	}
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// A prober that has gone away is no loss.
	_, _ = fmt.Fprintln(w, text)
}

// Serve listens on the address and answers in the background until ctx is done.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	config := net.ListenConfig{Control: smallBuffers, KeepAlive: -1} // Connections end sooner than one would be sent.
	port, err := config.Listen(ctx, "tcp", address)
	if err == nil {
		err = shorten(port)
	}
	if err != nil {
		return fmt.Errorf("answer requests: %w", err)
	}
	open := newConnections(maxConnections)
	server := &http.Server{
		ConnState:         open.track,
		ConnContext:       open.attach,
		Handler:           handler,
		ReadHeaderTimeout: requestTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener{port, open}); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("answer requests", "error", err)
		}
	}()
	return nil
}
