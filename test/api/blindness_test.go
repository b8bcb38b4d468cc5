package api

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/naming"
)

// TestBlindForAMoment: the watch of pods is broken, the operator writes to a pod, the pod is deleted, and the versions of
// that time are gone when the watch comes back. Nothing ever tells the operator of the version that it has written.
func TestBlindForAMoment(t *testing.T) {
	b := newBlindness(t, "pods")
	f := newFleet(t, 1)
	settled(t)
	b.begin()
	f.ask("second")
	pod := f.pods[0].key
	eventually(t, "the pod is asked", func() error {
		live := &corev1.Pod{}
		if err := kube.Get(t.Context(), pod, live); err != nil {
			return err
		}
		return same(live.Annotations[naming.AnnotationConfigTest], revisionOf("second"))
	})
	must(t, kube.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, client.GracePeriodSeconds(0)))
	b.end()

	create(t, newNamespace(t), "other", v1alpha2.NginxOperatorSpec{})
	eventually(t, "it is seen that there is no pod", func() error {
		must(t, get(t, f.nginx))
		return same(f.nginx.Status.Replicas, 0)
	})
}

// TestBlindToADeletion: what was deleted, and comes again under its name before the operator is told of anything, is not
// waited for ever after.
func TestBlindToADeletion(t *testing.T) {
	b := newBlindness(t, "poddisruptionbudgets")
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(2))})
	settled(t)
	there := func(want bool) func() error {
		return func() error { return same(owned(t, nginx, "PodDisruptionBudget") != nil, want) }
	}
	must(t, there(true)())
	scale := func(replicas int32) {
		edit(t, nginx, func(spec *v1alpha2.NginxOperatorSpec) { spec.Replicas = new(replicas) })
		waitObserved(t, nginx)
	}

	b.begin()
	scale(1)
	eventually(t, "it is deleted", there(false))
	scale(2)
	b.end()
	eventually(t, "there is one again", there(true))
	settled(t)
	before := b.lists.Load()
	scale(3)
	if n := b.lists.Load() - before; n > 0 {
		t.Errorf("the API server was asked %d times for what the cache shows", n)
	}
}

// blindness holds back what an operator would be told of a resource, as a broken network does that comes back later than the
// API server remembers.
type blindness struct {
	resource string
	// lists are those that went past the caches.
	lists atomic.Int64
	mu    sync.Mutex
	// watches are what is closed when it begins.
	watches []io.Closer
	// seeing is open while it lasts.
	seeing chan struct{}
	// forgotten tells that the next watch that goes on from a version finds it gone.
	forgotten bool
}

// newBlindness starts the operator anew, with all its watches of the resource under control.
func newBlindness(t *testing.T, resource string) *blindness {
	seeing := make(chan struct{})
	close(seeing)
	b := &blindness{resource: resource, seeing: seeing}
	running.blindness.Store(b)
	t.Cleanup(func() { running.blindness.Store(nil) })
	running.stop()
	restarted := startOperator()
	restarted.blindness.Store(b)
	running = restarted
	return b
}

func (b *blindness) concerns(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+b.resource)
}

func (b *blindness) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seeing, b.forgotten = make(chan struct{}), true
	for _, w := range b.watches {
		_ = w.Close() // a watch that has ended
	}
	b.watches = nil
}

func (b *blindness) end() { close(b.seeing) }

func (b *blindness) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if query.Get("watch") != "true" {
		b.lists.Add(1)
		return next.RoundTrip(r)
	}
	b.mu.Lock()
	seeing := b.seeing
	b.mu.Unlock()
	select {
	case <-seeing:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if b.forgets() && query.Get("sendInitialEvents") != "true" {
		return expired(r), nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	response, err := next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watches = append(b.watches, closer(cancel))
	return response, nil
}

func (b *blindness) forgets() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	forgotten := b.forgotten
	b.forgotten = false
	return forgotten
}

type closer context.CancelFunc

func (c closer) Close() error {
	c()
	return nil
}

// expired is the API server's answer to a watch from a version that it does not remember.
func expired(r *http.Request) *http.Response {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old resource version","code":410}`
	return &http.Response{
		StatusCode: http.StatusGone, Status: "410 Gone", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)), Request: r,
	}
}
