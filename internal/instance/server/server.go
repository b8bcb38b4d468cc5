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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/nginx-operator/internal/instance/health"
	"example.com/nginx-operator/internal/instanceapi"
)

// Bounds of a request. The pod's network can reach the server.
const (
	requestTimeout = 5 * time.Second
	answerTimeout  = 10 * time.Second
	idleTimeout    = 90 * time.Second
	maxHeader      = 8 << 10
)

// Handler returns the handler of all paths.
func Handler(doctor *health.Doctor, metrics prometheus.Gatherer, grant func(word string) bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+instanceapi.PathLive, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET "+instanceapi.PathReady, func(w http.ResponseWriter, _ *http.Request) {
		if reason := doctor.Examine().NotReady; reason != "" {
			answer(w, http.StatusServiceUnavailable, reason)
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET "+instanceapi.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(doctor.Examine().Status); err != nil {
			slog.Debug("answer with the status", "error", err)
		}
	})
	mux.HandleFunc("POST "+instanceapi.PathLoad, func(w http.ResponseWriter, r *http.Request) {
		word, err := io.ReadAll(http.MaxBytesReader(w, r.Body, instanceapi.MaxWord))
		if err != nil || !grant(string(word)) {
			answer(w, http.StatusForbidden, "this is not the word")
			return
		}
		answer(w, http.StatusAccepted, "ok")
	})
	mux.Handle("GET "+instanceapi.PathMetrics, promhttp.HandlerFor(metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 2}))
	return mux
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// A prober that has gone away is no loss.
	_, _ = fmt.Fprintln(w, text)
}

// Serve listens on the address and answers in the background until ctx is done.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("answer requests: %w", err)
	}
	server := &http.Server{
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
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("answer requests", "error", err)
		}
	}()
	return nil
}
