package cachedcontent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/internal/kube/budget"
)

// TestReader: the content of an object that is cached without it is read from the API server, for its owner only.
func TestReader(t *testing.T) {
	whole := labelled("shop", 1, web("example.com/v1", "Web"))
	whole.ResourceVersion = ""
	allowance := allowed(0)
	allowance.Budget = budget.New(0, 0)
	bare := transformed(t, newContent().Within(allowance, ctrlcache.TransformStripManagedFields()), whole.DeepCopy())
	reader := func(objects ...client.Object) client.Reader {
		return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
	}
	for name, tt := range map[string]struct {
		cached, live client.Reader
		owner        types.UID
		excess       budget.Excess
		found, whole bool
	}{
		"cached":            {reader(whole.DeepCopy()), reader(), "web", "", true, true},
		"not cached":        {reader(bare.DeepCopy()), reader(whole.DeepCopy()), "web", budget.OfNamespace, true, true},
		"deleted meanwhile": {reader(bare.DeepCopy()), reader(), "web", budget.OfNamespace, false, false},
		"of another owner":  {reader(bare.DeepCopy()), reader(whole.DeepCopy()), "other", "", true, false},
		"there is no such":  {reader(), reader(whole.DeepCopy()), "web", "", false, false},
	} {
		got := &corev1.ConfigMap{}
		excess, err := Reader{Cached: tt.cached, Live: tt.live}.Get(t.Context(), &metav1.ObjectMeta{UID: tt.owner}, client.ObjectKeyFromObject(whole), got)
		if excess != tt.excess || tt.found != (err == nil) || !tt.found && !apierrors.IsNotFound(err) {
			t.Errorf("%s: excess %q, error %v", name, excess, err)
		}
		if tt.whole != (got.Data["a"] != "") || tt.whole && !IsCached(got) {
			t.Errorf("%s: it is read with annotations %v and %d bytes", name, got.Annotations, len(got.Data["a"]))
		}
	}
}
