package node

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/standin/instance"
)

// relay serves, at a pod's address, the responses of the instance manager in the pod's container.
type relay struct {
	ip     string
	server *http.Server
}

// Close stops the relay.
func (r *relay) Close() error { return r.server.Close() }

// errDown means that a pod has no container at the moment.
var errDown = errors.New("the container does not run")

// relay starts to serve, with the handler that the namespace puts in front of the instances.
func (p *pod) relay(ctx context.Context) (*relay, error) {
	listener, ip, err := instance.Listen(ctx)
	if err != nil {
		return nil, err
	}
	silent := log.New(io.Discard, "", 0)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(instanceapi.Port))})
	proxy.Transport, proxy.ErrorLog = &http.Transport{DialContext: p.dial, DisableKeepAlives: true}, silent
	// If the container does not respond, neither does the relay.
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	r := &relay{ip: ip, server: &http.Server{
		Handler: p.node.disturbed(p.space, p.key.Name, proxy), ReadHeaderTimeout: 10 * time.Second, ErrorLog: silent,
	}}
	go func() { _ = r.server.Serve(listener) }() // it returns after Close
	return r, nil
}

// dial connects from inside the current container.
func (p *pod) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c := p.running()
	if c == nil {
		return nil, errDown
	}
	return c.Dial(ctx, network, address)
}
