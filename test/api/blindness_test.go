package api

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
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
	b := newBlindness()
	running.blindness.Store(b)
	t.Cleanup(func() { running.blindness.Store(nil) })
	running.stop()
	restarted := startOperator()
	restarted.blindness.Store(b)
	running = restarted

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

// blindness holds back what an operator would be told of pods, as a broken network does that comes back later than the
// API server remembers.
type blindness struct {
	mu sync.Mutex
	// watches are what is closed when it begins.
	watches []io.Closer
	// seeing is open while it lasts.
	seeing chan struct{}
	// forgotten tells that the next watch that goes on from a version finds it gone.
	forgotten bool
}

func newBlindness() *blindness {
	seeing := make(chan struct{})
	close(seeing)
	return &blindness{seeing: seeing}
}

func (b *blindness) concerns(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods")
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
	b.mu.Lock()
	seeing := b.seeing
	b.mu.Unlock()
	select {
	case <-seeing:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	query := r.URL.Query()
	if query.Get("watch") != "true" {
		return next.RoundTrip(r)
	}
	if b.forgets() && query.Get("sendInitialEvents") != "true" {
		return gone(r), nil
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

// gone is the API server's answer to a watch from a version that it does not remember.
func gone(r *http.Request) *http.Response {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old resource version","code":410}`
	return &http.Response{
		StatusCode: http.StatusGone, Status: "410 Gone", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)), Request: r,
	}
}
