package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"example.com/nginx-operator/internal/kube/caches"
	"example.com/nginx-operator/internal/kube/pages"
)

// TestListsAreReadInPages: if the API server does not stream lists, an informer transforms a page before it reads more. It
// shows all of them, also if the list expires meanwhile, and then what changes.
func TestListsAreReadInPages(t *testing.T) {
	const objects = pages.Most + 20
	namespace := newNamespace(t)
	for i := range objects {
		must(t, kube.Create(t.Context(), withData(namespace, fmt.Sprintf("listed-%03d", i))))
	}
	old := &oldServer{}
	config := rest.CopyConfig(plane.Config)
	config.Wrap(old.wrap)
	config.Wrap(pages.NewTransport)
	cache, err := caches.NewConcurrent(config, ctrlcache.Options{
		DefaultNamespaces: map[string]ctrlcache.Config{namespace: {}}, DefaultTransform: old.transform,
	})
	must(t, err)
	go func() { _ = cache.Start(t.Context()) }()
	shown := func(want int) error {
		list := &corev1.ConfigMapList{}
		if err := cache.List(t.Context(), list); err != nil {
			return err
		}
		for _, cm := range list.Items {
			if cm.Data != nil {
				return fmt.Errorf("%s has content", cm.Name)
			}
		}
		return same(len(list.Items), want)
	}
	eventually(t, "all objects are shown", func() error { return shown(objects) })
	must(t, kube.Create(t.Context(), withData(namespace, "watched")))
	eventually(t, "an object that was created later is shown", func() error { return shown(objects + 1) })

	old.Lock()
	defer old.Unlock()
	if want := []string{"500: 0", "500: 500", "500: 0", "500: 500"}; fmt.Sprint(old.pages) != fmt.Sprint(want) {
		t.Errorf("pages were read after the transformation of so many objects: %q, want %q", old.pages, want)
	}
}

func withData(namespace, name string) *corev1.ConfigMap {
	cm := configMap(namespace, name)
	cm.Data = map[string]string{"a": "content"}
	return cm
}

// oldServer is an API server that does not stream lists, and whose first list expires after a page.
type oldServer struct {
	sync.Mutex
	// pages are the limits of the lists, each with the number of objects that were transformed since the list began.
	pages       []string
	transformed int
}

func (s *oldServer) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		query := r.URL.Query()
		switch {
		case query.Get("sendInitialEvents") != "":
			return refusal(r, http.StatusUnprocessableEntity), nil
		case query.Get("watch") == "" && query.Has("limit") && s.expires(query.Get("limit"), query.Get("continue")):
			return refusal(r, http.StatusGone), nil
		}
		return next.RoundTrip(r)
	})
}

// expires takes note of a page, and reports whether it has expired.
func (s *oldServer) expires(limit, from string) bool {
	s.Lock()
	defer s.Unlock()
	if from == "" {
		s.transformed = 0
	}
	s.pages = append(s.pages, fmt.Sprint(limit, ": ", s.transformed))
	return len(s.pages) == 2
}

func (s *oldServer) transform(object any) (any, error) {
	s.Lock()
	defer s.Unlock()
	s.transformed++
	cm := object.(*corev1.ConfigMap)
	return &corev1.ConfigMap{ObjectMeta: cm.ObjectMeta}, nil
}

func refusal(r *http.Request, status int) *http.Response {
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(status)
	response := recorder.Result()
	response.Request = r
	return response
}
