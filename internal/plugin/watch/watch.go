// Package watch follows the objects of one resource.
//
// One request is enough where the API server streams the initial objects as events (Kubernetes 1.34). Otherwise they are
// listed in pages, and watched from then on. Objects are decoded into any type with JSON tags, so that a large fleet costs
// only the fields that are used.
package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const (
	// pageSize is the number of objects in a page of a list.
	pageSize = 500
	// watchSeconds is how long a watch lasts before the next one continues it. The API server verifies credentials and rights
	// at the start of a watch only.
	watchSeconds = 600
	// maxObject bounds an event: etcd keeps objects of at most 1.5 MiB.
	maxObject = 8 << 20
)

// Resource selects objects.
type Resource struct {
	// Path is the one of the API, such as /api/v1/namespaces/default/pods.
	Path string
	// Labels and Fields are selectors; empty: all objects.
	Labels, Fields string
}

// Handler receives the objects. Its functions are called one after another.
type Handler[T any] struct {
	// Key identifies an object.
	Key func(*T) string
	// Put is called for each object that exists, and for each change.
	Put func(*T)
	// Gone is called for each object that exists no longer.
	Gone func(key string)
	// Synced is called when all objects have been put, at first and after each interruption.
	Synced func()
	// Lost is called when the API server cannot be reached; the objects may be outdated until Synced is called.
	Lost func(error)
}

// Follow follows objects until the context ends, or until the API server refuses the request.
func Follow[T any](ctx context.Context, c rest.Interface, r Resource, h Handler[T]) error {
	f := &follower[T]{client: c, resource: r, handler: h, known: map[string]bool{}}
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: 30 * time.Second}
	pause := backoff
	for ctx.Err() == nil {
		err := f.run(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			// The API server ends each watch after a while.
			pause = backoff
		case refused(err):
			return err
		default:
			f.lost = true
			h.Lost(err)
			sleep(ctx, pause.Step())
		}
	}
	return nil
}

// Raw returns the body of an answer, or the error in the words of the API server.
func Raw(answer rest.Result) ([]byte, error) {
	if err := answer.Error(); err != nil {
		return nil, err
	}
	return answer.Raw()
}

// refused reports whether a request that is repeated would fail again.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

type follower[T any] struct {
	client   rest.Interface
	resource Resource
	handler  Handler[T]
	// known has the keys of the objects that were put; the value is false until the present list has them, too.
	known map[string]bool
	// version is the one to watch from; empty: nothing is known.
	version string
	// paged is true if the API server does not stream the initial objects.
	paged bool
	// lost is true from an interruption until a watch goes on.
	lost bool
}

// run sends one watch, after a list if there is nothing to continue from.
func (f *follower[T]) run(ctx context.Context) error {
	if f.version == "" && f.paged {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	request := f.request().Param("watch", "true").Param("allowWatchBookmarks", "true").Param("timeoutSeconds", strconv.Itoa(watchSeconds))
	if f.version == "" {
		f.begin()
		request = request.Param("sendInitialEvents", "true").Param("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	} else {
		request = request.Param("resourceVersion", f.version)
	}
	body, err := request.Stream(ctx)
	switch {
	case f.version == "" && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)):
		f.paged = true
		return nil
	case err != nil:
		return f.expired(err)
	}
	defer func() { _ = body.Close() }() // The stream has ended.
	if f.lost && f.version != "" {
		// What was missed comes first.
		f.lost = false
		f.handler.Synced()
	}
	return f.expired(f.read(body))
}

// expired forgets the version if the API server has its events no longer.
func (f *follower[T]) expired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		f.version = ""
		return nil
	}
	return err
}

func (f *follower[T]) request() *rest.Request {
	request := f.client.Get().AbsPath(f.resource.Path).SetHeader("Accept", "application/json")
	if f.resource.Labels != "" {
		request = request.Param("labelSelector", f.resource.Labels)
	}
	if f.resource.Fields != "" {
		request = request.Param("fieldSelector", f.resource.Fields)
	}
	return request
}

// begin starts a list: objects that it lacks are gone.
func (f *follower[T]) begin() {
	for key := range f.known {
		f.known[key] = false
	}
}

// end ends a list.
func (f *follower[T]) end(version string) {
	for key, listed := range f.known {
		if !listed {
			f.gone(key)
		}
	}
	f.version, f.lost = version, false
	f.handler.Synced()
}

func (f *follower[T]) put(object *T) {
	f.known[f.handler.Key(object)] = true
	f.handler.Put(object)
}

func (f *follower[T]) gone(key string) {
	delete(f.known, key)
	f.handler.Gone(key)
}

// list lists the objects in pages.
func (f *follower[T]) list(ctx context.Context) error {
	f.begin()
	next := ""
	for {
		request := f.request().Param("limit", strconv.Itoa(pageSize))
		if next != "" {
			request = request.Param("continue", next)
		}
		raw, err := Raw(request.Do(ctx))
		if err != nil {
			return err
		}
		page := struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []T             `json:"items"`
		}{}
		if err := json.Unmarshal(raw, &page); err != nil {
			return fmt.Errorf("decode a list of %s: %w", f.resource.Path, err)
		}
		for i := range page.Items {
			f.put(&page.Items[i])
		}
		if next = page.Metadata.Continue; next == "" {
			f.end(page.Metadata.ResourceVersion)
			return nil
		}
	}
}

// read reads events, one a line, until the stream ends.
func (f *follower[T]) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxObject)
	for lines.Scan() {
		if err := f.event(lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("watch %s: %w", f.resource.Path, err)
	}
	return f.cut()
}

// cut returns an error if the stream ended before the initial objects were complete.
func (f *follower[T]) cut() error {
	if f.version == "" {
		return fmt.Errorf("watch %s: the stream ended before all objects had arrived", f.resource.Path)
	}
	return nil
}

// mark is what all objects have.
type mark struct {
	Metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// frame is an event of a watch.
type frame[T any] struct {
	Type   string `json:"type"`
	Object T      `json:"object"`
}

func (f *follower[T]) event(line []byte) error {
	var of frame[T]
	if err := json.Unmarshal(line, &of); err != nil {
		return f.failure(line, err)
	}
	switch of.Type {
	case "ADDED", "MODIFIED":
		f.put(&of.Object)
	case "DELETED":
		f.gone(f.handler.Key(&of.Object))
	case "ERROR":
		return f.failure(line, nil)
	}
	// During the initial objects only the bookmark at their end has a version to continue from.
	if of.Type != "BOOKMARK" && f.version == "" {
		return nil
	}
	return f.advance(line)
}

// advance takes the version of an event, and ends the initial objects at their bookmark.
func (f *follower[T]) advance(line []byte) error {
	var of frame[mark]
	if err := json.Unmarshal(line, &of); err != nil {
		return fmt.Errorf("decode an event of %s: %w", f.resource.Path, err)
	}
	m := of.Object.Metadata
	switch {
	case m.Annotations[metav1.InitialEventsAnnotationKey] == "true":
		f.end(m.ResourceVersion)
	case f.version != "":
		f.version = m.ResourceVersion
	}
	return nil
}

// failure returns the error that an event holds, or else why it cannot be decoded.
func (f *follower[T]) failure(line []byte, cause error) error {
	var of frame[metav1.Status]
	if err := json.Unmarshal(line, &of); err != nil || of.Type != "ERROR" {
		return fmt.Errorf("decode an event of %s: %w", f.resource.Path, errors.Join(cause, err))
	}
	if of.Object.Code == 0 {
		of.Object.Code = http.StatusInternalServerError
	}
	return apierrors.FromObject(&of.Object)
}
