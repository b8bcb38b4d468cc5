package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Guest is one operator behind the proxy. Of its functions, those that are nil change nothing.
type Guest struct {
	// URL of the API server, as the guest has it.
	URL string
	// OnWrite decides what happens to its n-th write, from 1 on. It is asked about one write at a
	// time.
	OnWrite func(n int, r Request) Fault
	// OnRead does so for its n-th read: one of an object, or of a list that is not to fill a cache.
	OnRead func(n int, r Request) Fault
	// Unknown is the path of a field that the API server is too old to know; empty: it knows all. An apply that has
	// it is refused as a whole, as structured-merge-diff does it.
	Unknown string
	// OnKill ends the guest. It returns when it has ended.
	OnKill func()
	// OnEvent decides what happens to an event of one of its watches.
	OnEvent func(Event) Delivery

	proxy *Proxy

	mu            sync.Mutex
	writes, reads []Request
	// connections are what ends its requests; gone: none is taken any more.
	connections map[int]context.CancelFunc
	entered     int
	gone        bool

	views map[string]*view
	feeds map[feedKey]*feed
}

// Writes are those that it has sent, in their order.
func (g *Guest) Writes() []Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Request(nil), g.writes...)
}

// Reads are those that it has sent, in their order.
func (g *Guest) Reads() []Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Request(nil), g.reads...)
}

// enter lets a request in, and returns the function by which it leaves.
func (g *Guest) enter(ctx context.Context) (context.Context, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return nil, nil, errLeft
	}
	ctx, cancel := context.WithCancel(ctx)
	if g.connections == nil {
		g.connections = map[int]context.CancelFunc{}
	}
	n := g.entered
	g.entered++
	g.connections[n] = cancel
	return ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.connections, n)
		cancel()
	}, nil
}

// Disconnect ends its requests, and takes none until Connect: a killed program sends nothing more.
func (g *Guest) Disconnect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
	g.hangUp()
}

// hangUp ends its requests; g.mu is held.
func (g *Guest) hangUp() {
	for _, cancel := range g.connections {
		cancel()
	}
}

// Connect takes requests again, of a program that has been started anew: it lists everything.
func (g *Guest) Connect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = false
	g.expire()
}

// note numbers a request among those of its sort, and decides what happens to it.
func (g *Guest) note(all *[]Request, decide *func(n int, r Request) Fault, r Request) Fault {
	g.mu.Lock()
	defer g.mu.Unlock()
	*all = append(*all, r)
	if *decide == nil {
		return None
	}
	return (*decide)(len(*all), r)
}

func (g *Guest) write(w http.ResponseWriter, r *http.Request, request Request) {
	g.meet(w, r, request, g.note(&g.writes, &g.OnWrite, request), g.forwardKnown)
}

// forwardKnown sends a write on, if the API server knows its fields.
func (g *Guest) forwardKnown(w http.ResponseWriter, r *http.Request) {
	if g.Unknown == "" || r.Header.Get("Content-Type") != string(types.ApplyPatchType) {
		g.proxy.forward(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		abort()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var fields any
	if err := json.Unmarshal(body, &fields); err != nil || !has(fields, strings.Split(items.ReplaceAllString(g.Unknown, ""), ".")[1:]) {
		g.proxy.forward(w, r)
		return
	}
	answer(w, http.StatusInternalServerError, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: "failed to create typed patch object: " + g.Unknown + ": field not declared in schema",
	})
}

// items are what a path says of the items of lists.
var items = regexp.MustCompile(`\[[^]]*\]`)

// has tells whether there is a field, in any item of the lists on the way to it.
func has(at any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch at := at.(type) {
	case []any:
		return slices.ContainsFunc(at, func(item any) bool { return has(item, path) })
	case map[string]any:
		next, there := at[path[0]]
		return there && has(next, path[1:])
	}
	return false
}

func (g *Guest) read(w http.ResponseWriter, r *http.Request, request Request) {
	send := g.proxy.forward
	if request.Verb == "list" {
		send = func(w http.ResponseWriter, r *http.Request) { g.list(w, r, request) }
	}
	g.meet(w, r, request, g.note(&g.reads, &g.OnRead, request), send)
}

// meet lets a request meet a fault, or sends it on.
func (g *Guest) meet(w http.ResponseWriter, r *http.Request, request Request, fault Fault, send http.HandlerFunc) {
	if fault == None {
		send(w, r)
		return
	}
	if fault.carriedOut() {
		if err := g.proxy.carryOut(r); err != nil {
			abort()
		}
	}
	if fault.Kills() {
		g.Disconnect()
		g.OnKill()
	}
	status := fault.answer(request)
	if status == nil {
		abort()
	}
	if status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, int(status.Code), status)
}
