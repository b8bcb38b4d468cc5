package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestStaleCache: the operator recovers from a broken watch of pods. It writes to a pod, the
// pod is deleted, and the versions of that time have expired when the watch resumes, so the
// operator never observes the version that it has written.
func TestStaleCache(t *testing.T) {
	b := newBlindness(t, "pods")
	f := newFleet(t, 1)
	settled(t)
	b.begin()
	sync := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"now"}}}`, naming.AnnotationSync)
	must(t, kube.Patch(t.Context(), f.nginx, client.RawPatch(types.MergePatchType, sync)))
	pod := f.pods[0].key
	eventually(t, "the operator writes to the pod", func() error {
		live := &corev1.Pod{}
		if err := kube.Get(t.Context(), pod, live); err != nil {
			return err
		}
		return differs(live.Annotations[naming.AnnotationSync], "")
	})
	must(t, kube.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, client.GracePeriodSeconds(0)))
	b.end()

	create(t, newNamespace(t), "other", v1alpha2.NginxOperatorSpec{})
	eventually(t, "it is seen that there is no pod", func() error {
		must(t, get(t, f.nginx))
		return same(f.nginx.Status.Replicas, 0)
	})
}

// TestStaleCacheAfterADeletion: the operator does not wait for ever for an object that was deleted and
// recreated under its name before the operator observed anything.
func TestStaleCacheAfterADeletion(t *testing.T) {
	b := newBlindness(t, "poddisruptionbudgets")
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(2))})
	settled(t)
	there := func(want bool) func() error {
		return func() error { return same(ownedObject(t, nginx, "PodDisruptionBudget") != nil, want) }
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
		t.Errorf("%d requests to the API server read what the cache has", n)
	}
}

// blindness holds back the watch events of a resource, like a network that is broken for longer
// than the API server keeps old versions.
type blindness struct {
	resource string
	// lists counts the lists that bypassed the caches.
	lists atomic.Int64
	mu    sync.Mutex
	// watches are closed when the blindness begins.
	watches []io.Closer
	// seeing is closed except during the blindness.
	seeing chan struct{}
	// forgotten makes the next watch that resumes from a version find that version expired.
	forgotten bool
}

// newBlindness restarts the operator with all its watches of the resource under control.
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
		_ = w.Close() // it may have ended
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

// expired returns the API server's response to a watch from a version that has expired.
func expired(r *http.Request) *http.Response {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old resource version","code":410}`
	return &http.Response{
		StatusCode: http.StatusGone, Status: "410 Gone", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)), Request: r,
	}
}
