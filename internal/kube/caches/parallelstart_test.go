package caches

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
)

// TestNamespacesBeginTogether: the cache lists the pods of all namespaces at the same time. The API
// server answers only once it has been asked about all of them.
func TestNamespacesBeginTogether(t *testing.T) {
	const many = 20
	namespaces := map[string]ctrlcache.Config{}
	for i := range many {
		namespaces[fmt.Sprintf("n%d", i)] = ctrlcache.Config{}
	}
	server := newStartupCheck(t, many)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	for name, newCache := range map[string]ctrlcache.NewCacheFunc{
		"the manager's": NewReadYourWrites(nil, func() ctrlcache.Options { return ctrlcache.Options{} }).NewCache,
		"references":    NewConcurrent,
	} {
		t.Run(name, func(t *testing.T) {
			server.forget()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cache, err := newCache(&rest.Config{Host: server.URL}, ctrlcache.Options{
				Scheme: clientgoscheme.Scheme, Mapper: mapper, DefaultNamespaces: namespaces,
			})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if err := cache.Start(ctx); err != nil {
					t.Error(err)
				}
			}()
			// Wait first: an informer that is requested before the cache has started does not wait.
			cache.WaitForCacheSync(ctx)
			if _, err := cache.GetInformer(ctx, &corev1.Pod{}); err != nil {
				t.Errorf("%d of %d namespaces were asked about: %v", server.present(), many, err)
			}
			cancel()
		})
	}
}

// startupCheck is an API server that answers a list once every namespace has been listed.
type startupCheck struct {
	*httptest.Server
	want int

	mu   sync.Mutex
	came map[string]bool
	all  chan struct{}
}

func newStartupCheck(t *testing.T, want int) *startupCheck {
	r := &startupCheck{want: want}
	r.forget()
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.CloseClientConnections)
	return r
}

func (r *startupCheck) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.came, r.all = map[string]bool{}, make(chan struct{})
}

func (r *startupCheck) present() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.came)
}

// come records the request for a namespace. The channel that it returns is closed when all have
// been requested.
func (r *startupCheck) come(path string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := len(r.came); before < r.want {
		r.came[path] = true
		if len(r.came) == r.want {
			close(r.all)
		}
	}
	return r.all
}

func (r *startupCheck) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.URL.Query().Get("sendInitialEvents") != "" || !strings.HasSuffix(request.URL.Path, "/pods") {
		// Respond like an API server that does not support streaming lists.
		http.Error(w, "", http.StatusUnprocessableEntity)
		return
	}
	select {
	case <-r.come(request.URL.Path):
	case <-request.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if request.URL.Query().Get("watch") != "" {
		w.WriteHeader(http.StatusOK)
		if err := http.NewResponseController(w).Flush(); err != nil {
			panic(http.ErrAbortHandler)
		}
		<-request.Context().Done()
		return
	}
	if _, err := io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`); err != nil {
		panic(http.ErrAbortHandler)
	}
}
