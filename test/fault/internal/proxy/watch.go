package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is an event of a watch.
type Event struct {
	// View is what is watched: a resource, with the selectors if there are any.
	View string
	// N is the number of the event in its view, counted from 1. Bookmarks have none.
	N               int
	Type            watch.EventType
	Namespace, Name string
	// Version is the object's resource version after the event.
	Version string
}

// Delivery is the way in which an event is delivered.
type Delivery string

// The ways in which an event can be delivered.
const (
	// Deliver delivers the event at once.
	Deliver Delivery = ""
	// Late holds the event until another one of the same object arrives, or for lateness. It then
	// delivers all held events in order.
	Late Delivery = "late"
	// Superseded holds the event as Late does, but never delivers it. The client gets 410 Gone for
	// its version, and has to list again.
	Superseded Delivery = "superseded"
	// Gone responds with 410 Gone at once.
	Gone Delivery = "gone"
	// Broken closes the connection before the event. The client resumes the watch from its last
	// version.
	Broken Delivery = "broken"
)

// Deliveries returns all deliveries that keep an event from the client.
func Deliveries() []Delivery { return []Delivery{Late, Superseded, Gone, Broken} }

// lateness bounds how long an event is held if no other event of the object arrives.
const lateness = 2 * time.Second

// view is a client's view of a resource.
type view struct {
	events []Event
	// frozen is the resource version at which lists are answered; empty: the newest.
	frozen string
	// thawed is closed when the view thaws.
	thawed chan struct{}
	// shown reports whether a list was answered at frozen.
	shown bool
}

// viewName returns the name of the view that is listed or watched.
func viewName(r *http.Request, request Request) string {
	parts := []string{request.Resource}
	query := r.URL.Query()
	for _, selector := range []string{"labelSelector", "fieldSelector"} {
		if value := query.Get(selector); value != "" {
			parts = append(parts, value)
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "as=Partial") {
		parts = append(parts, "metadata")
	}
	return strings.Join(parts, "?")
}

// view returns the view with a name; g.mu is held.
func (g *Client) view(name string) *view {
	if g.views[name] == nil {
		g.views[name] = &view{}
	}
	return g.views[name]
}

// Views returns the events of all views.
func (g *Client) Views() map[string][]Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[string][]Event{}
	for name, v := range g.views {
		all[name] = slices.Clone(v.events)
	}
	return all
}

// Thaw unfreezes all frozen views.
func (g *Client) Thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.views {
		if v.frozen != "" {
			v.frozen = ""
			close(v.thawed)
		}
	}
}

// Freeze freezes a view at a version, until Thaw, for a client that connects afterwards.
func (g *Client) Freeze(name, version string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.view(name)
	v.frozen, v.thawed, v.shown = version, make(chan struct{}), false
}

// Shown reports whether the client has received a list of the frozen view. It may not have: the API
// server forgets old versions, and the client does not list all views at once.
func (g *Client) Shown(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.view(name).shown
}

// frozen returns the version of a frozen view, and the channel that is closed when it thaws.
func (g *Client) frozen(name string) (string, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.views[name]; v != nil {
		return v.frozen, v.thawed
	}
	return "", nil
}

// list forwards a list. A frozen view is listed at its frozen version, which the next pages have as well.
func (g *Client) list(w http.ResponseWriter, r *http.Request, request Request) {
	name := viewName(r, request)
	defer g.listed(feedKey{name, request.Namespace})
	query := r.URL.Query()
	if version, _ := g.frozen(name); version != "" && fillsCache(r, request) && query.Get("continue") == "" {
		query.Set("resourceVersion", version)
		query.Set("resourceVersionMatch", "Exact")
		r.URL.RawQuery = query.Encode()
		answered := &statusRecorder{ResponseWriter: w}
		g.proxy.forward(answered, r)
		g.mu.Lock()
		defer g.mu.Unlock()
		v := g.view(name)
		v.shown = v.shown || answered.status == http.StatusOK
		return
	}
	g.proxy.forward(w, r)
}

// statusRecorder records the status code of a response.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the status code, and forwards it.
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find the wrapped writer.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// frame is a watch event on the wire.
type frame struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

// follow forwards the events of a watch one by one.
type follow struct {
	client *Client
	feedKey
	w http.ResponseWriter
	// version is the resource version of the last forwarded event.
	version string
	frames  <-chan frame
}

func (g *Client) watch(w http.ResponseWriter, r *http.Request, request Request) {
	f := &follow{client: g, feedKey: feedKey{viewName(r, request), request.Namespace}, w: w, version: r.URL.Query().Get("resourceVersion")}
	if version, thawed := g.frozen(f.view); version != "" {
		select {
		case <-r.Context().Done():
			abort()
		case <-thawed:
		}
	}
	if g.expired(f.feedKey) {
		w.Header().Set("Content-Type", "application/json")
		f.sendGone()
		return
	}
	response, err := g.proxy.roundTrip(r)
	if err != nil {
		abort()
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	defer g.sees(f.feedKey)()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	f.frames = read(r.Context(), json.NewDecoder(response.Body))
	f.flush()
	for f.next(r.Context()) {
	}
}

// read decodes frames until the stream or the context ends.
func read(ctx context.Context, in *json.Decoder) <-chan frame {
	frames := make(chan frame)
	go func() {
		defer close(frames)
		for {
			var f frame
			if in.Decode(&f) != nil {
				return
			}
			select {
			case frames <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	return frames
}

// next handles one event, and reports whether the watch continues.
func (f *follow) next(ctx context.Context) bool {
	frame, open := <-f.frames
	if !open {
		return false
	}
	event, version := f.recordEvent(frame)
	delivery := Deliver
	if f.client.OnEvent != nil && event.N > 0 {
		delivery = f.client.OnEvent(event)
	}
	switch delivery {
	case Broken:
		abort()
	case Gone:
		f.sendGone()
		return false
	case Late, Superseded:
		return f.late(ctx, frame, event, delivery)
	case Deliver:
	}
	f.version = version
	return f.send(frame)
}

// late holds an event, and those after it, until it is superseded or lateness has passed.
func (f *follow) late(ctx context.Context, first frame, event Event, delivery Delivery) bool {
	f.client.hold(f.feedKey, 1)
	defer f.client.hold(f.feedKey, -1)
	kept := []frame{first}
	timer := time.NewTimer(lateness)
	defer timer.Stop()
	for superseded := false; !superseded; {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			superseded = true
		case next, open := <-f.frames:
			if !open {
				return false
			}
			kept = append(kept, next)
			later, _ := f.recordEvent(next)
			superseded = later.Namespace == event.Namespace && later.Name == event.Name
		}
	}
	if delivery == Superseded {
		f.sendGone()
		return false
	}
	for _, k := range kept {
		if !f.send(k) {
			return false
		}
		f.version = versionOf(k)
	}
	return true
}

func versionOf(frame frame) string { return metadataOf(frame).ResourceVersion }

// metadataOf returns the metadata of an event's object; empty: the object is not valid.
func metadataOf(frame frame) metav1.PartialObjectMetadata {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(frame.Object, &object) != nil {
		return metav1.PartialObjectMetadata{}
	}
	return object
}

// recordEvent returns the event with its number in the view, and the object's resource version.
func (f *follow) recordEvent(frame frame) (Event, string) {
	object := metadataOf(frame)
	event := Event{View: f.view, Type: frame.Type, Namespace: object.Namespace, Name: object.Name}
	if frame.Type == watch.Added || frame.Type == watch.Modified || frame.Type == watch.Deleted {
		f.client.mu.Lock()
		v := f.client.view(f.view)
		event.N, event.Version = len(v.events)+1, object.ResourceVersion
		v.events = append(v.events, event)
		f.client.mu.Unlock()
	}
	return event, object.ResourceVersion
}

func (f *follow) sendGone() {
	text, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: fmt.Sprintf("too old resource version: %s (injected)", f.version),
	})
	if err != nil {
		abort()
	}
	f.send(frame{Type: watch.Error, Object: text})
}

func (f *follow) send(frame frame) bool {
	text, err := json.Marshal(frame)
	if err != nil {
		abort()
	}
	if _, err := f.w.Write(append(text, '\n')); err != nil {
		return false
	}
	f.flush()
	return true
}

func (f *follow) flush() {
	if flusher, ok := f.w.(http.Flusher); ok {
		flusher.Flush()
	}
}
