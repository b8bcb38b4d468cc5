package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

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
