package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/caches"
	"example.com/nginx-operator/test/internal/webhook"
)

// TestReadsWaitForTheirNamespace: reads show what was written in their namespace, and do not wait for a write that hangs in
// another one.
func TestReadsWaitForTheirNamespace(t *testing.T) {
	c, lists := readYourWrites(t)
	slow, other := newNamespace(t), newNamespace(t)
	hanging, err := webhook.Hang(t.Context(), kube, slow)
	must(t, err)
	created := make(chan error, 1)
	go func() { created <- c.Create(t.Context(), configMap(slow, "hangs")) }()
	t.Cleanup(func() {
		must(t, hanging.Stop(context.WithoutCancel(t.Context())))
	})
	eventually(t, "the write hangs", func() error {
		if n := hanging.Hanging(); n != 1 {
			return fmt.Errorf("%d writes hang", n)
		}
		return nil
	})
	before := lists.Load()
	for i := range 20 {
		must(t, c.Create(t.Context(), configMap(other, fmt.Sprint("written-", i))))
		shown := &corev1.ConfigMapList{}
		must(t, c.List(t.Context(), shown, client.InNamespace(other)))
		found := 0
		for _, cm := range shown.Items {
			if strings.HasPrefix(cm.Name, "written-") {
				found++
			}
		}
		if found != i+1 {
			t.Fatalf("after %d writes, %d are shown", i+1, found)
		}
	}
	if hanging.Hanging() != 1 {
		t.Error("no write hangs any more, so the test shows nothing")
	}
	if more := lists.Load() - before; more != 0 {
		t.Errorf("%d lists were read from the API server", more)
	}
	select {
	case err := <-created:
		t.Errorf("the write does not hang: %v", err)
	default:
	}
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// readYourWrites returns a client with its own informers, and the number of its lists of ConfigMaps.
func readYourWrites(t *testing.T) (client.Client, *atomic.Int64) {
	t.Helper()
	lists := &atomic.Int64{}
	config := rest.CopyConfig(plane.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/configmaps") && r.URL.Query().Get("watch") == "" {
				lists.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	reads := caches.NewReadYourWrites(nil, func() ctrlcache.Options { return ctrlcache.Options{} })
	cache, err := reads.NewCache(config, ctrlcache.Options{})
	must(t, err)
	go func() { _ = cache.Start(t.Context()) }()
	if !cache.WaitForCacheSync(t.Context()) {
		t.Fatal("the informers do not start")
	}
	c, err := reads.NewClient(config, client.Options{Cache: &client.CacheOptions{Reader: cache}})
	must(t, err)
	// The informer of ConfigMaps starts with the first read.
	must(t, c.List(t.Context(), &corev1.ConfigMapList{}))
	return c, lists
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
