// Package proxy is a proxy between operators and an API server. It records their requests, and can
// lose, refuse and delay them. It works with any operator.
package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy serves any number of clients at the same time.
type Proxy struct {
	target    *url.URL
	transport http.RoundTripper
	server    *http.Server
	address   string

	mu      sync.Mutex
	clients map[string]*Client
}

// Start starts a proxy for the API server of config. All clients use the credentials of config.
func Start(ctx context.Context, config *rest.Config) (*Proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, transport: transport, address: "http://" + listener.Addr().String(), clients: map[string]*Client{}}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // Close ends it
	return p, nil
}

// Close closes all connections.
func (p *Proxy) Close() error { return p.server.Close() }

// NewClient creates a client, which reaches the API server at its own URL.
func (p *Proxy) NewClient(name string) *Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &Client{URL: p.address + "/" + name, proxy: p, views: map[string]*view{}, feeds: map[feedKey]*feed{}}
	p.clients[name] = g
	return g
}

// Dismiss closes a client's connections permanently.
func (p *Proxy) Dismiss(g *Client) {
	g.Disconnect()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, strings.TrimPrefix(g.URL, p.address+"/"))
}

func (p *Proxy) client(r *http.Request) *Client {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	r.URL.Path, r.URL.RawPath = "/"+rest, ""
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clients[name]
}

// abort closes the connection without a response.
func abort() { panic(http.ErrAbortHandler) }

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	g := p.client(r)
	if g == nil {
		abort()
	}
	ctx, leave, err := g.enter(r.Context())
	if err != nil {
		abort()
	}
	defer leave()
	r = r.WithContext(ctx)
	r.Header.Set("Accept", asJSON(r.Header.Get("Accept")))
	r.Header.Del("Accept-Encoding")
	request, ok := parse(r)
	switch {
	case !ok:
		p.forward(w, r)
	case request.Write():
		g.write(w, r, request)
	case request.Verb == "watch":
		g.watch(w, r, request)
	case fillsCache(r, request):
		g.list(w, r, request)
	default:
		g.read(w, r, request)
	}
}

// fillsCache reports whether a request is a list of an informer: client-go lists any version, and informers of package caches
// give each page a time-out.
func fillsCache(r *http.Request, request Request) bool {
	query := r.URL.Query()
	return request.Verb == "list" && (query.Get("resourceVersion") == "0" || query.Has("timeoutSeconds"))
}

// asJSON returns the JSON types of an Accept header, because the proxy can separate only JSON
// frames.
func asJSON(accept string) string {
	types := slices.DeleteFunc(strings.Split(accept, ","), func(t string) bool { return !strings.HasPrefix(t, "application/json") })
	if len(types) == 0 {
		return "application/json"
	}
	return strings.Join(types, ",")
}

// forward forwards a request, and its response.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	(&httputil.ReverseProxy{
		Rewrite:       func(out *httputil.ProxyRequest) { out.SetURL(p.target) },
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { abort() },
	}).ServeHTTP(w, r)
}

// roundTrip sends a request to the API server, and returns the response.
func (p *Proxy) roundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.target.Scheme, p.target.Host, "", ""
	return p.transport.RoundTrip(out)
}

// carryOut sends a request to the API server, and drops the response.
func (p *Proxy) carryOut(r *http.Request) error {
	answer, err := p.roundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	if err != nil {
		return fmt.Errorf("the API server does not answer: %w", err)
	}
	return answer.Body.Close()
}

func answer(w http.ResponseWriter, code int, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		abort()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if _, err := w.Write(text); err != nil {
		abort()
	}
}

// errLeft means that the client is disconnected.
var errLeft = errors.New("the client is disconnected")
