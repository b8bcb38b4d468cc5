// Package proxy stands between operators and an API server. It sees everything that they ask, and
// can lose, refuse and delay it. Of the operators it knows nothing.
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

// Proxy serves any number of guests side by side.
type Proxy struct {
	target    *url.URL
	transport http.RoundTripper
	server    *http.Server
	address   string

	mu     sync.Mutex
	guests map[string]*Guest
}

// Start starts a proxy before the API server of a configuration, whose rights its guests have.
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
	p := &Proxy{target: target, transport: transport, address: "http://" + listener.Addr().String(), guests: map[string]*Guest{}}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // it ends by Close
	return p, nil
}

// Close ends all connections.
func (p *Proxy) Close() error { return p.server.Close() }

// Invite makes a guest, who reaches the API server at its URL.
func (p *Proxy) Invite(name string) *Guest {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &Guest{URL: p.address + "/" + name, proxy: p, views: map[string]*view{}, feeds: map[feedKey]*feed{}}
	p.guests[name] = g
	return g
}

// Dismiss ends a guest's connections for good.
func (p *Proxy) Dismiss(g *Guest) {
	g.Disconnect()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.guests, strings.TrimPrefix(g.URL, p.address+"/"))
}

func (p *Proxy) guest(r *http.Request) *Guest {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	r.URL.Path, r.URL.RawPath = "/"+rest, ""
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.guests[name]
}

// abort ends the connection without an answer.
func abort() { panic(http.ErrAbortHandler) }

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	g := p.guest(r)
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

// fillsCache tells whether a request is a list of any version, which is what a cache begins with. One of the newest
// comes from etcd.
func fillsCache(r *http.Request, request Request) bool {
	return request.Verb == "list" && r.URL.Query().Get("resourceVersion") == "0"
}

// asJSON are those of the acceptable types that are JSON, whose frames can be told apart.
func asJSON(accept string) string {
	types := slices.DeleteFunc(strings.Split(accept, ","), func(t string) bool { return !strings.HasPrefix(t, "application/json") })
	if len(types) == 0 {
		return "application/json"
	}
	return strings.Join(types, ",")
}

// forward sends a request on, and its answer back.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	(&httputil.ReverseProxy{
		Rewrite:       func(out *httputil.ProxyRequest) { out.SetURL(p.target) },
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { abort() },
	}).ServeHTTP(w, r)
}

// ask sends a request on, and returns its answer.
func (p *Proxy) ask(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.target.Scheme, p.target.Host, "", ""
	return p.transport.RoundTrip(out)
}

// carryOut has a request carried out, and loses its answer.
func (p *Proxy) carryOut(r *http.Request) error {
	answer, err := p.ask(r.WithContext(context.WithoutCancel(r.Context())))
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

// errLeft tells that a guest is disconnected.
var errLeft = errors.New("the guest is disconnected")
