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

// Event is one of a watch.
type Event struct {
	// View is what is watched: a resource, and the selectors if there are any.
	View string
	// N numbers the events of the view, from 1 on. Bookmarks have none.
	N               int
	Type            watch.EventType
	Namespace, Name string
	// Version that the object has since.
	Version string
}

// Delivery is what happens to an event.
type Delivery string

// The deliveries.
const (
	// Deliver hands it on.
	Deliver Delivery = ""
	// Late keeps it until another one of the same object comes, or for lateness, and delivers all of
	// them in their order.
	Late Delivery = "late"
	// Superseded keeps it as Late does. The guest never gets it: it is told that its version is gone,
	// and has to list anew.
	Superseded Delivery = "superseded"
	// Gone tells at once that the version is gone.
	Gone Delivery = "gone"
	// Broken ends the connection before the event. The guest watches again from where it was.
	Broken Delivery = "broken"
)

// Deliveries are all that keep an event from the guest.
func Deliveries() []Delivery { return []Delivery{Late, Superseded, Gone, Broken} }

// lateness bounds how long an event is kept that nothing supersedes.
const lateness = 2 * time.Second

// view is what a guest sees of a resource.
type view struct {
	events []Event
	// frozen is the version that lists are answered of; empty: the newest.
	frozen string
	// thawed is closed when frozen ends.
	thawed chan struct{}
	// shown: a list was answered of frozen.
	shown bool
}

// viewName names what is listed or watched.
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

// view is that of a name; g.mu is held.
func (g *Guest) view(name string) *view {
	if g.views[name] == nil {
		g.views[name] = &view{}
	}
	return g.views[name]
}

// Views are the events that its views had.
func (g *Guest) Views() map[string][]Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[string][]Event{}
	for name, v := range g.views {
		all[name] = slices.Clone(v.events)
	}
	return all
}

// Thaw lets all frozen views go on.
func (g *Guest) Thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.views {
		if v.frozen != "" {
			v.frozen = ""
			close(v.thawed)
		}
	}
}

// Freeze shows a view as of a version, until Thaw, to a guest that connects after this.
func (g *Guest) Freeze(name, version string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.view(name)
	v.frozen, v.thawed, v.shown = version, make(chan struct{}), false
}

// Shown tells whether the guest has been shown a view as it was frozen. The API server forgets versions, and not all that is
// watched is listed at once.
func (g *Guest) Shown(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.view(name).shown
}

// frozen is the version that a view is frozen at, and what is closed when it goes on.
func (g *Guest) frozen(name string) (string, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.views[name]; v != nil {
		return v.frozen, v.thawed
	}
	return "", nil
}

// list answers of a frozen view as of then.
func (g *Guest) list(w http.ResponseWriter, r *http.Request, request Request) {
	name := viewName(r, request)
	defer g.listed(feedKey{name, request.Namespace})
	if version, _ := g.frozen(name); version != "" && fillsCache(r, request) {
		query := r.URL.Query()
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

// statusRecorder notes how a request was answered.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader hands the status on.
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// frame is one event on the wire.
type frame struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

// follow hands the events of a watch on, one by one.
type follow struct {
	guest *Guest
	feedKey
	w http.ResponseWriter
	// version is that of the last event that was handed on.
	version string
	frames  <-chan frame
}

func (g *Guest) watch(w http.ResponseWriter, r *http.Request, request Request) {
	f := &follow{guest: g, feedKey: feedKey{viewName(r, request), request.Namespace}, w: w, version: r.URL.Query().Get("resourceVersion")}
	if version, thawed := g.frozen(f.view); version != "" {
		select {
		case <-r.Context().Done():
			abort()
		case <-thawed:
		}
	}
	if g.expired(f.feedKey) {
		w.Header().Set("Content-Type", "application/json")
		f.gone()
		return
	}
	response, err := g.proxy.ask(r)
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

// next handles one event, and tells whether the watch goes on.
func (f *follow) next(ctx context.Context) bool {
	frame, open := <-f.frames
	if !open {
		return false
	}
	event, version := f.number(frame)
	delivery := Deliver
	if f.guest.OnEvent != nil && event.N > 0 {
		delivery = f.guest.OnEvent(event)
	}
	switch delivery {
	case Broken:
		abort()
	case Gone:
		f.gone()
		return false
	case Late, Superseded:
		return f.late(ctx, frame, event, delivery)
	case Deliver:
	}
	f.version = version
	return f.send(frame)
}

// late keeps an event, and what comes after it, until it is superseded.
func (f *follow) late(ctx context.Context, first frame, event Event, delivery Delivery) bool {
	f.guest.hold(f.feedKey, 1)
	defer f.guest.hold(f.feedKey, -1)
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
			later, _ := f.number(next)
			superseded = later.Namespace == event.Namespace && later.Name == event.Name
		}
	}
	if delivery == Superseded {
		f.gone()
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

// metadataOf is what an event's object is called; of an object that is none, nothing.
func metadataOf(frame frame) metav1.PartialObjectMetadata {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(frame.Object, &object) != nil {
		return metav1.PartialObjectMetadata{}
	}
	return object
}

// number tells what an event is about, and of which version.
func (f *follow) number(frame frame) (Event, string) {
	object := metadataOf(frame)
	event := Event{View: f.view, Type: frame.Type, Namespace: object.Namespace, Name: object.Name}
	if frame.Type == watch.Added || frame.Type == watch.Modified || frame.Type == watch.Deleted {
		f.guest.mu.Lock()
		v := f.guest.view(f.view)
		event.N, event.Version = len(v.events)+1, object.ResourceVersion
		v.events = append(v.events, event)
		f.guest.mu.Unlock()
	}
	return event, object.ResourceVersion
}

func (f *follow) gone() {
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
