package webhookcert

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// onlyCRD has a CRD, and panics when anything else is asked of it.
type onlyCRD struct {
	client.Client
	stored []string
}

func (c onlyCRD) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.(*apiextensionsv1.CustomResourceDefinition).Status.StoredVersions = c.stored
	return nil
}

// TestMounted leaves the certificate and the CRD to somebody else, but tells what is stored.
func TestMounted(t *testing.T) {
	c := &Controller{Mounted: true}
	for _, stored := range [][]string{{"v1alpha1", "v1alpha2"}, {"v1alpha2"}} {
		c.Client = onlyCRD{stored: stored}
		if _, err := c.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
		if want := len(stored) > 1; c.MixedStorage() != want {
			t.Errorf("stored as %v: mixed is %t", stored, !want)
		}
	}
}
