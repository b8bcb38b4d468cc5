package observe

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestNotCached: a ConfigMap whose content exceeds the budget of the cache is read from the API server.
func TestNotCached(t *testing.T) {
	kind := owned.Kind{Name: "ConfigMap", GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), New: func() owned.Object { return &corev1.ConfigMap{} }, ObjectName: naming.ConfigMap}
	app := application.Of(&v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "own"}})
	whole := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: naming.ConfigMap("web"), UID: "cm", OwnerReferences: controlledBy(v1alpha2.GroupVersion.String(), v1alpha2.Kind, "web", "own"),
	}, Data: map[string]string{"site.conf": "server {}"}}
	// Nothing fits into this budget.
	content := cachedcontent.New(nil, v1alpha2.GroupVersion.WithKind(v1alpha2.Kind).GroupKind())
	bare, err := content.Within(cachedcontent.Allowance{Kind: "ConfigMap", Budget: budget.New(0, 0)}, ctrlcache.TransformStripManagedFields())(whole.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	reader := func(objects ...client.Object) client.Reader {
		return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
	}
	for name, tt := range map[string]struct {
		cache, live client.Reader
		found       bool
		notCached   map[budget.Excess][]string
	}{
		"cached":         {reader(whole.DeepCopy()), reader(), true, nil},
		"not cached":     {reader(bare.(client.Object)), reader(whole.DeepCopy()), true, map[budget.Excess][]string{budget.OfNamespace: {"ConfigMap " + whole.Name}}},
		"gone meanwhile": {reader(bare.(client.Object).DeepCopyObject().(client.Object)), reader(), false, map[budget.Excess][]string{budget.OfNamespace: {"ConfigMap " + whole.Name}}},
	} {
		state := State{Owned: map[owned.Key]owned.Object{}}
		if err := New(tt.cache, nil, tt.live, nil, []owned.Kind{kind}).owned(t.Context(), app, &state); err != nil {
			t.Fatal(err)
		}
		cm := state.Config(whole.Name)
		if tt.found != (cm != nil) || tt.found && cm.Data["site.conf"] != "server {}" {
			t.Errorf("%s: it is read as %+v", name, cm)
		}
		if diff := cmp.Diff(tt.notCached, state.NotCached); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestListedNotCached: of the objects that are listed, those that the application declares are read from the API server. Anyone
// can create others, which cost no requests.
func TestListedNotCached(t *testing.T) {
	kind := owned.NewOptionalKind(schema.GroupVersion{Group: "example.org", Version: "v1"}, "Route", "routes")
	app := application.Of(&v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "own"}})
	app.Stateful = &application.Stateful{PodServices: true}
	content, full := cachedcontent.New([]string{naming.LabelApplication}), cachedcontent.Allowance{Budget: budget.New(0, 0)}
	var cached, live []client.Object
	add := func(object client.Object, name string) {
		object.SetNamespace("shop")
		object.SetName(name)
		object.SetLabels(naming.SelectorLabels("web"))
		object.SetAnnotations(map[string]string{"whole": "yes"})
		object.SetOwnerReferences(controlledBy(v1alpha2.GroupVersion.String(), v1alpha2.Kind, "web", "own"))
		bare, err := content.Within(full, func(obj any) (any, error) { return obj, nil })(object.DeepCopyObject())
		if err != nil {
			t.Fatal(err)
		}
		bare.(client.Object).SetLabels(naming.SelectorLabels("web"))
		cached, live = append(cached, bare.(client.Object)), append(live, object)
	}
	for _, name := range []string{"web-declared", "web-another"} {
		add(kind.New(), name)
	}
	for _, name := range []string{naming.Service("web"), "web-0", "web-64", "web-00", "web-x", "another-1"} {
		add(&corev1.Service{}, name)
	}
	build := func(objects []client.Object) *fake.ClientBuilder {
		return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).WithIndex(kind.New(), IndexApplication, applicationLabel)
	}
	requests := 0
	counting := build(live).WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
		requests++
		return c.Get(ctx, key, object)
	}}).Build()
	state := State{Owned: map[owned.Key]owned.Object{}}
	observer := New(build(cached).Build(), nil, counting, nil, nil).WithOptionalKinds(OptionalKinds{
		Declared: func(*application.Application, string) []string { return []string{"web-declared"} },
	})
	if err := errors.Join(observer.listOptional(t.Context(), app, kind, &state), observer.podServices(t.Context(), app, &state)); err != nil {
		t.Fatal(err)
	}
	if want := map[budget.Excess][]string{budget.OfNamespace: {"Route web-declared", "Service web-0"}}; requests != 2 || !cmp.Equal(want, state.NotCached) {
		t.Errorf("after %d requests, not cached are %v", requests, state.NotCached)
	}
	for key, object := range state.Owned {
		if whole := object.GetAnnotations()["whole"] != ""; whole != (key.Name == "web-declared" || key.Name == "web-0") {
			t.Errorf("%v is read with the annotations %v", key, object.GetAnnotations())
		}
	}
	if len(state.Owned) != 7 {
		t.Errorf("%d objects are read", len(state.Owned))
	}
}
