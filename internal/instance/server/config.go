package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/supervise"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// configs shows and tests configurations for users. The right to forward a port to the pod decides who may.
type configs struct {
	supervisor Supervisor
	// inContainer reports whether the client of a connection is a process of this container.
	inContainer func(client, server netip.AddrPort) bool
	// answering holds a value while a request is answered, so that at most one body is in memory.
	answering chan struct{}
}

func newConfigs(supervisor Supervisor) *configs {
	return &configs{supervisor: supervisor, inContainer: proc.Root.ClientInContainer, answering: make(chan struct{}, 1)}
}

const onlyForwarded = "available only through kubectl port-forward: use kubectl nginx config"

// only passes on the requests that come through a forwarded port, one at a time. Without the check of the client, a request
// to an nginx that proxies to any address could get here.
func (c *configs) only(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		client, server, ok := loopbackConnection(r)
		if !ok {
			answerText(w, http.StatusForbidden, onlyForwarded)
			return
		}
		select {
		case c.answering <- struct{}{}:
			defer func() { <-c.answering }()
		default:
			answerText(w, http.StatusTooManyRequests, "another request is being answered: try again")
			return
		}
		// Within the bound, because reading the table of all connections takes a while.
		if c.inContainer(client, server) {
			answerText(w, http.StatusForbidden, onlyForwarded)
			return
		}
		deadline, connection := time.Now().Add(instanceapi.ConfigTestWait+answerTimeout), http.NewResponseController(w)
		if err := errors.Join(connection.SetReadDeadline(deadline), connection.SetWriteDeadline(deadline)); err != nil {
			answerText(w, http.StatusInternalServerError, err.Error())
			return
		}
		handler(w, r)
	}
}

// loopbackConnection returns the ends of a connection through the loopback interface.
func loopbackConnection(r *http.Request) (client, server netip.AddrPort, ok bool) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return client, server, false
	}
	server = local.AddrPort()
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	loopback := server.Addr().Unmap().IsLoopback() && client.Addr().Unmap().IsLoopback()
	return client, server, err == nil && loopback
}

func (c *configs) show(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), instanceapi.ConfigTestWait)
	defer cancel()
	served, err := c.supervisor.ServedConfig(ctx)
	answerInquiry(w, served, err)
}

func (c *configs) test(w http.ResponseWriter, r *http.Request) {
	body, err := instanceapi.ReadConfigFiles(http.MaxBytesReader(w, r.Body, instanceapi.MaxConfigFiles))
	if err != nil {
		answerText(w, http.StatusBadRequest, "the files cannot be read: "+err.Error())
		return
	}
	files := make(nginxconf.Files, len(body))
	for name, text := range body {
		files[name] = string(text)
	}
	if _, err := nginxconf.New(files); err != nil {
		answerText(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), instanceapi.ConfigTestWait)
	defer cancel()
	tested, err := c.supervisor.TestConfig(ctx, files)
	answerInquiry(w, tested, err)
}

func answerInquiry(w http.ResponseWriter, answer any, err error) {
	switch {
	case err == nil:
		answerJSON(w, answer)
	case errors.Is(err, supervise.ErrBusy):
		answerText(w, http.StatusServiceUnavailable, err.Error())
	default:
		slog.Warn("cannot answer a user's request", "error", err)
		answerText(w, http.StatusInternalServerError, err.Error())
	}
}
