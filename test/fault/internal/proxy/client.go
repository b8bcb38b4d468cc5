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

// Client is an operator behind the proxy. A hook that is nil changes nothing.
type Client struct {
	// URL is the URL of the API server for this client.
	URL string
	// OnWrite decides what happens to the n-th write, counted from 1. It is called for one write at
	// a time.
	OnWrite func(n int, r Request) Fault
	// OnRead decides the same for the n-th read: a get, or a list that does not fill a cache.
	OnRead func(n int, r Request) Fault
	// Unknown is the path of a field that the API server does not know; empty: it knows all fields.
	// It refuses an apply with this field as a whole, like structured-merge-diff.
	Unknown string
	// OnKill kills the client. It returns when the client has ended.
	OnKill func()
	// OnEvent decides how an event of a watch is delivered.
	OnEvent func(Event) Delivery

	proxy *Proxy

	mu            sync.Mutex
	writes, reads []Request
	// connections cancel the client's requests. gone: new requests are refused.
	connections map[int]context.CancelFunc
	entered     int
	gone        bool

	views map[string]*view
	feeds map[feedKey]*feed
}

// Writes returns the writes that the client has sent, in order.
func (c *Client) Writes() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Request(nil), c.writes...)
}

// Reads returns the reads that the client has sent, in order.
func (c *Client) Reads() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Request(nil), c.reads...)
}

// enter registers a request, and returns the function that removes it.
func (c *Client) enter(ctx context.Context) (context.Context, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return nil, nil, errLeft
	}
	ctx, cancel := context.WithCancel(ctx)
	if c.connections == nil {
		c.connections = map[int]context.CancelFunc{}
	}
	n := c.entered
	c.entered++
	c.connections[n] = cancel
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.connections, n)
		cancel()
	}, nil
}

// Disconnect cancels all requests, and refuses new ones until Connect: a killed program sends
// nothing.
func (c *Client) Disconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	c.hangUp()
}

// hangUp cancels all requests; c.mu is held.
func (c *Client) hangUp() {
	for _, cancel := range c.connections {
		cancel()
	}
}

// Connect accepts requests again, from a restarted program that has to list everything.
func (c *Client) Connect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = false
	c.expire()
}

// note records a read or write, and decides what happens to it.
func (c *Client) note(all *[]Request, decide *func(n int, r Request) Fault, r Request) Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	*all = append(*all, r)
	if *decide == nil {
		return None
	}
	return (*decide)(len(*all), r)
}

func (c *Client) write(w http.ResponseWriter, r *http.Request, request Request) {
	c.meet(w, r, request, c.note(&c.writes, &c.OnWrite, request), c.forwardKnown)
}

// forwardKnown forwards a write unless it is an apply with the unknown field.
func (c *Client) forwardKnown(w http.ResponseWriter, r *http.Request) {
	if c.Unknown == "" || r.Header.Get("Content-Type") != string(types.ApplyPatchType) {
		c.proxy.forward(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		abort()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var fields any
	if err := json.Unmarshal(body, &fields); err != nil || !hasField(fields, strings.Split(items.ReplaceAllString(c.Unknown, ""), ".")[1:]) {
		c.proxy.forward(w, r)
		return
	}
	answer(w, http.StatusInternalServerError, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: "failed to create typed patch object: " + c.Unknown + ": field not declared in schema",
	})
}

// items matches the selectors of list items in a path.
var items = regexp.MustCompile(`\[[^]]*\]`)

// hasField reports whether a field exists. For lists on its path, any item may have it.
func hasField(at any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch at := at.(type) {
	case []any:
		return slices.ContainsFunc(at, func(item any) bool { return hasField(item, path) })
	case map[string]any:
		next, there := at[path[0]]
		return there && hasField(next, path[1:])
	}
	return false
}

func (c *Client) read(w http.ResponseWriter, r *http.Request, request Request) {
	send := c.proxy.forward
	if request.Verb == "list" {
		send = func(w http.ResponseWriter, r *http.Request) { c.list(w, r, request) }
	}
	c.meet(w, r, request, c.note(&c.reads, &c.OnRead, request), send)
}

// meet injects a fault into a request, or forwards the request.
func (c *Client) meet(w http.ResponseWriter, r *http.Request, request Request, fault Fault, send http.HandlerFunc) {
	if fault == None {
		send(w, r)
		return
	}
	if fault.forwardsWrite() {
		if err := c.proxy.carryOut(r); err != nil {
			abort()
		}
	}
	if fault.Kills() {
		c.Disconnect()
		c.OnKill()
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
