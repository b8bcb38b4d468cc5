package optional

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/owned"
)

// TestContentIsBounded: objects are cached within their allowance, which they give back when the cache ends.
func TestContentIsBounded(t *testing.T) {
	web := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Web", Name: "web", UID: "web", Controller: new(true)}
	route := owned.NewOptionalKind(schema.GroupVersion{Group: "example.org", Version: "v1"}, "Route", "routes")
	server := httptest.NewServer(serving(t, route, web))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(route.GVK, meta.RESTScopeNamespace)
	content := cachedcontent.New(nil, schema.GroupKind{Group: "example.com", Kind: "Web"})
	allowance := cachedcontent.Allowance{Kind: "Route", Budget: budget.New(1<<20, 8<<20)}
	kinds, err := New(Options{
		Config: &rest.Config{Host: server.URL}, HTTPClient: server.Client(), Scheme: clientgoscheme.Scheme, Mapper: mapper,
		Selector: labels.Everything(), Index: "none", IndexValues: func(client.Object) []string { return nil },
		Content: func(owned.Kind) (toolscache.TransformFunc, cachedcontent.Allowance) {
			return content.Within(allowance, content.OfOwners(ctrlcache.TransformStripManagedFields())), allowance
		},
		WatchErrors: toolscache.DefaultWatchErrorHandler,
	}, route)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan struct{})
	kinds.Subscribe(func(client.Object) {}, func() { close(served) })
	ended := make(chan error, 1)
	go func() { ended <- kinds.all[route.GVK].serve(ctx) }()
	<-served
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(route.GVK.GroupVersion().WithKind("RouteList"))
	if err := kinds.Client(nil).List(ctx, list); err != nil || len(list.Items) != 3 {
		t.Fatalf("%d objects are cached: %v", len(list.Items), err)
	}
	whole := 0
	for i := range list.Items {
		if list.Items[i].Object["spec"] != nil {
			whole++
		}
	}
	if used := allowance.Budget.Used(); whole != 1 || used < 512<<10 || used > 1<<20 {
		t.Errorf("%d objects are cached with their content, and take %d bytes", whole, used)
	}
	cancel()
	if err := <-ended; err != nil || allowance.Budget.Used() != 0 {
		t.Errorf("the cache has ended (%v), and takes %d bytes", err, allowance.Budget.Used())
	}
}

// serving returns an API server with three objects of a kind: two of the owner, of which one fits into 1 MiB, and one of nobody.
func serving(t *testing.T, kind owned.Kind, owner metav1.OwnerReference) http.HandlerFunc {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GVK.GroupVersion().WithKind("RouteList"))
	list.SetResourceVersion("9")
	for name, owners := range map[string][]metav1.OwnerReference{"a": {owner}, "b": {owner}, "c": nil} {
		object := kind.New().(*unstructured.Unstructured)
		object.SetNamespace("shop")
		object.SetName(name)
		object.SetUID(types.UID(name))
		object.SetResourceVersion("7")
		object.SetOwnerReferences(owners)
		object.Object["spec"] = map[string]any{"text": strings.Repeat("x", 600<<10)}
		list.Items = append(list.Items, *object)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			// Respond like an API server that does not support streaming lists.
			http.Error(w, "", http.StatusUnprocessableEntity)
		case query.Get("watch") != "":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
		}
	}
}
