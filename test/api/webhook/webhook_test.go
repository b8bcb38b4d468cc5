// Package webhook tests the resilience of the conversion webhook, with a real API server that calls
// it.
package webhook

import (
	"context"
	"encoding/pem"
	"testing"
	"time"

	"example.com/nginx-operator/test/internal/kubetest"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/webhookcert"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/testenv"
)

// readsPerSecond is the load, of both versions together.
const readsPerSecond = 50

var must = kubetest.Must

// TestCertificatesExpireUnderLoad: no read of either version fails while the certificate and its CA
// expire several times.
func TestCertificatesExpireUnderLoad(t *testing.T) {
	const (
		authorities  = 3
		certificates = 5
	)
	ctrl.SetLogger(logr.Discard())
	plane, err := testenv.Start(t.TempDir())
	must(t, err)
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	port, err := testenv.FreePort()
	must(t, err)
	must(t, plane.InstallCRD(t.Context(), port))
	// A renewal has three seconds, which a busy machine may need.
	lifetimes := webhookcert.Lifetimes{Serving: 2 * webhookcert.MinLifetime, CA: 4 * webhookcert.MinLifetime}
	stop, err := plane.StartOperator(t.Context(), port, func(o *manager.Options) { o.WebhookLifetimes = lifetimes })
	must(t, err)
	defer func() { must(t, stop()) }()
	object := testenv.Object("v1alpha2", "default", "web")
	must(t, plane.Client.Create(t.Context(), object))

	reads, err := testenv.StartReads(t.Context(), plane.Config, client.ObjectKeyFromObject(object), readsPerSecond)
	must(t, err)
	seen := map[string]map[string]bool{"ca.crt": {}, "tls.crt": {}}
	deadline := time.Now().Add(4 * time.Minute)
	for len(seen["ca.crt"]) < authorities || len(seen["tls.crt"]) < certificates {
		if time.Now().After(deadline) {
			t.Fatalf("%d CAs and %d certificates in four minutes", len(seen["ca.crt"]), len(seen["tls.crt"]))
		}
		note(t, plane.Client, seen)
		time.Sleep(100 * time.Millisecond)
	}
	report := reads.Stop()
	t.Logf("%d CAs, %d certificates: %s", len(seen["ca.crt"]), len(seen["tls.crt"]), report)
	for _, failure := range report.Failures {
		t.Error(failure)
	}
}

// note adds the certificates that are in the operator's Secret now.
func note(t *testing.T, kube client.Client, seen map[string]map[string]bool) {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, kube.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Namespace: "nginx-operator-system", Name: "nginx-operator-webhook-cert"}, secret))
	for key, certificates := range seen {
		if block, _ := pem.Decode(secret.Data[key]); block != nil {
			certificates[string(block.Bytes)] = true
		}
	}
}
