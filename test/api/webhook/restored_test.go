package webhook

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/testenv"
)

// TestMountedCAIsRestored: the operator publishes its CA again when the CRD is replaced by one
// without a CA, as the Operator Lifecycle Manager does up to three times during an upgrade, while
// both versions are read. If the CRD has the CA of a certificate that is not mounted yet instead,
// the operator adds its own CA and keeps that one.
func TestMountedCAIsRestored(t *testing.T) {
	plane, port := startPlane(t)
	stop := startMounted(t, plane, port)
	defer func() { must(t, stop()) }()
	object := full("web")
	must(t, plane.Client.Create(t.Context(), object))
	eventually(t, "the operator works", func(ctx context.Context) error {
		if err := plane.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil || object.Status.ObservedGeneration > 0 {
			return err
		}
		return errors.New("it has not seen the object")
	})
	before, err := plane.LiveCRD(t.Context())
	must(t, err)
	reads, err := testenv.StartReads(t.Context(), plane.Config, client.ObjectKeyFromObject(object), readsPerSecond)
	must(t, err)
	const replacements = 3
	for range replacements {
		published, readable := breakConversion(t, plane, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Conversion = unpublished(port)
		})
		t.Logf("published again after %s, v1alpha1 readable after %s", published, readable)
	}
	report := reads.Stop()
	t.Logf("three replacements of the CRD: %s", report)
	after, err := plane.LiveCRD(t.Context())
	must(t, err)
	if n := after.Generation - before.Generation; n != 2*replacements {
		t.Errorf("the CRD was changed %d times, want %d", n, 2*replacements)
	}

	next := anotherCA(t)
	published, readable := breakConversion(t, plane, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion.Webhook.ClientConfig.CABundle = next
	})
	t.Logf("beside another CA: published after %s, v1alpha1 readable after %s", published, readable)
	crd, err := plane.LiveCRD(t.Context())
	must(t, err)
	if bundle := crd.Spec.Conversion.Webhook.ClientConfig.CABundle; !bytes.Contains(bundle, bytes.TrimSpace(next)) {
		t.Errorf("the other CA is lost: %s", bundle)
	}
}

// breakConversion changes the CRD so that API servers no longer trust the webhook, and waits until
// they do again. It returns how long it took to publish the CA and to read v1alpha1.
func breakConversion(t *testing.T, plane *testenv.ControlPlane, change func(*apiextensionsv1.CustomResourceDefinition)) (published, readable time.Duration) {
	t.Helper()
	before, err := plane.LiveCRD(t.Context())
	must(t, err)
	must(t, plane.ChangeCRD(t.Context(), change))
	start := time.Now()
	eventually(t, "the CA is published", func(ctx context.Context) error {
		crd, err := plane.LiveCRD(ctx)
		if err == nil && crd.Generation < before.Generation+2 {
			err = fmt.Errorf("the CRD has the generation %d, and had %d before", crd.Generation, before.Generation)
		}
		return err
	})
	published = time.Since(start)
	eventually(t, "v1alpha1 is read", func(ctx context.Context) error {
		old := oldVersion("web")
		return plane.Client.Get(ctx, client.ObjectKeyFromObject(old), old)
	})
	return published, time.Since(start)
}

// startMounted starts an operator with a mounted certificate. An operator that issues its own
// certificate stands in for the controller that creates it.
func startMounted(t *testing.T, plane *testenv.ControlPlane, port int) func() error {
	t.Helper()
	stop, err := plane.StartOperator(t.Context(), port, nil)
	must(t, err)
	secret, dir := &corev1.Secret{}, t.TempDir()
	must(t, plane.Client.Get(t.Context(), client.ObjectKey{Namespace: testenv.SystemNamespace, Name: "nginx-operator-webhook-cert"}, secret))
	must(t, stop())
	for _, name := range []string{"tls.crt", "tls.key"} {
		must(t, os.WriteFile(filepath.Join(dir, name), secret.Data[name], 0o600))
	}
	stop, err = plane.StartOperator(t.Context(), port, func(o *manager.Options) { o.WebhookCertDir = dir })
	must(t, err)
	return stop
}

// anotherCA returns a CA that has signed nothing.
func anotherCA(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
