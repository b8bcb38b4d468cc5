package webhookcert

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// onlyCRD is a client with a single CRD. It counts the updates of the CRD, and panics on any other
// request.
type onlyCRD struct {
	client.Client
	stored  []string
	webhook *apiextensionsv1.WebhookClientConfig
	updates int
}

func (c *onlyCRD) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	crd := obj.(*apiextensionsv1.CustomResourceDefinition)
	crd.Status.StoredVersions = c.stored
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: c.webhook}}
	return nil
}

func (c *onlyCRD) Update(context.Context, client.Object, ...client.UpdateOption) error {
	c.updates++
	return nil
}

// TestMounted: with a mounted certificate, the controller reports mixed storage, and writes nothing
// as long as the CRD has the certificate's CA.
func TestMounted(t *testing.T) {
	mine, dir := issued(t, "olm"), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, keyCert), mine[keyCert], 0o600); err != nil {
		t.Fatal(err)
	}
	fake := &onlyCRD{}
	c := &Controller{CertDir: dir, Client: fake, Live: fake, Clock: clock.RealClock{}}
	for _, step := range []struct {
		stored  []string
		webhook *apiextensionsv1.WebhookClientConfig
		updates int
	}{
		{[]string{"v1alpha1", "v1alpha2"}, nil, 0},
		{[]string{"v1alpha2"}, clientOf("olm", nil), 0},
		{[]string{"v1alpha2"}, clientOf("olm", mine[keyCACert]), 0},
		{[]string{"v1alpha2"}, clientOf("olm", nil), 1},
		{[]string{"v1alpha2"}, clientOf("olm", mine[keyCACert]), 1},
	} {
		fake.stored, fake.webhook = step.stored, step.webhook
		if _, err := c.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
		if want := len(step.stored) > 1; c.MixedStorage() != want {
			t.Errorf("stored as %v: mixed is %t", step.stored, !want)
		}
		if fake.updates != step.updates {
			t.Errorf("after %+v there were %d updates, want %d", step.webhook, fake.updates, step.updates)
		}
	}
}
