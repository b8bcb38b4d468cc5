// Package pagestest has an API server for tests of lists: it measures what a client reads of them.
package pagestest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/internal/kube/pages"
)

// MaxRead is the most that a client may read of a response, in bytes.
const MaxRead = 4<<20 + 1

// Server is an API server that does not stream lists. Whatever is listed, it has the same objects.
type Server struct {
	// Objects are the metadata of all objects.
	Objects []metav1.ObjectMeta
	// Expiry is the number of requests after which a list expires; 0: it does not.
	Expiry int

	url string

	mu sync.Mutex
	// limits are the numbers of objects that were requested.
	limits []int
	// selectors are the label selectors of the requests, each once.
	selectors []string
	// largest is the most that was read of a response.
	largest int
	// age is the number of requests of the current list.
	age int
}

// Start starts a server.
func Start(t *testing.T, objects []metav1.ObjectMeta) *Server {
	t.Helper()
	s := &Server{Objects: objects}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL
	return s
}

// Objects returns the metadata of n objects of namespace shop with so many bytes of annotations each.
func Objects(n, bytes int) []metav1.ObjectMeta {
	content := strings.Repeat("x", bytes)
	objects := make([]metav1.ObjectMeta, n)
	for i := range objects {
		objects[i] = metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%06d", i), UID: "u", ResourceVersion: "1", Annotations: map[string]string{"content": content},
		}
	}
	return objects
}

// Config returns the configuration of a client that bounds its pages.
func (s *Server) Config() *rest.Config {
	config := &rest.Config{Host: s.url, QPS: -1}
	config.Wrap(pages.NewTransport)
	config.Wrap(s.measure)
	return config
}

// Mapper returns the kinds that are served. A client needs it, because the server has no discovery.
func Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap"), appsv1.SchemeGroupVersion.WithKind("ControllerRevision")} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return mapper
}

// Limits returns the numbers of objects that were requested, one for each request.
func (s *Server) Limits() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.limits)
}

// Selectors returns the label selectors of the requests.
func (s *Server) Selectors() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.selectors)
}

// Largest returns the most that was read of a response, in bytes.
func (s *Server) Largest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.largest
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Has("sendInitialEvents"):
		w.WriteHeader(http.StatusUnprocessableEntity)
	case query.Has("watch"):
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		s.list(w, r)
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	first, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	w.Header().Set("Content-Type", "application/json")
	if s.expires(first, limit, query.Get("labelSelector")) {
		w.WriteHeader(http.StatusGone)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
		})
		return
	}
	last := len(s.Objects)
	if limit > 0 {
		last = min(last, first+limit)
	}
	page := metav1.ListMeta{ResourceVersion: "1"}
	if last < len(s.Objects) {
		page.Continue = strconv.Itoa(last)
	}
	write(w, typeOf(r), page, s.Objects[first:last])
}

// write writes one object after the other, so that little is written for a client that stops to read.
func write(w io.Writer, kind metav1.TypeMeta, page metav1.ListMeta, objects []metav1.ObjectMeta) {
	head, _ := json.Marshal(page)
	_, err := fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":%s,"items":[`, kind.APIVersion, kind.Kind, head)
	for i := 0; i < len(objects) && err == nil; i++ {
		var object []byte
		if object, err = json.Marshal(metav1.PartialObjectMetadata{ObjectMeta: objects[i]}); err != nil {
			return
		}
		if i > 0 {
			object = append([]byte{','}, object...)
		}
		_, err = w.Write(object)
	}
	_, _ = io.WriteString(w, "]}")
}

// expires records a request, and reports whether its list has expired.
func (s *Server) expires(first, limit int, selector string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = append(s.limits, limit)
	if !slices.Contains(s.selectors, selector) {
		s.selectors = append(s.selectors, selector)
	}
	if first == 0 {
		s.age = 0
	}
	s.age++
	return s.Expiry > 0 && s.age > s.Expiry
}

// typeOf returns the type of the list that a request accepts.
func typeOf(r *http.Request) metav1.TypeMeta {
	switch {
	case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
		return metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}
	case strings.HasSuffix(r.URL.Path, "/controllerrevisions"):
		return metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevisionList"}
	}
	return metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *Server) measure(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil {
			response.Body = &measuredBody{ReadCloser: response.Body, server: s}
		}
		return response, err
	})
}

// measuredBody measures what is read of it.
type measuredBody struct {
	io.ReadCloser
	server *Server
	read   int
}

// Read implements io.Reader.
func (b *measuredBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.read += n
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.server.largest = max(b.server.largest, b.read)
	return n, err
}
