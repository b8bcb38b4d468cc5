package api

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestHangingNamespace: while an admission webhook of one namespace never answers, applications in other namespaces are
// created and changed.
func TestHangingNamespace(t *testing.T) {
	slow := newNamespace(t)
	hanging := hangWrites(t, slow)
	const applications = 24 // With all workers, they hang for several minutes.
	for i := range applications {
		must(t, kube.Create(t.Context(), &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: slow, Name: fmt.Sprintf("web-%d", i)}}))
	}
	eventually(t, "writes hang", func() error {
		if hanging.Load() == 0 {
			return fmt.Errorf("none does")
		}
		return nil
	})
	for range 3 {
		nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{})
		edit(t, nginx, func(spec *v1alpha2.NginxOperatorSpec) { spec.Image = new("nginx:another") })
	}
	if hanging.Load() == 0 {
		t.Error("no write hangs any more, so the test shows nothing")
	}
}

// hangWrites makes all writes of owned objects in a namespace hang until the test ends. It returns the number of those
// that hang.
func hangWrites(t *testing.T, namespace string) *atomic.Int64 {
	hanging, end := &atomic.Int64{}, make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		hanging.Add(1)
		defer hanging.Add(-1)
		select {
		case <-r.Context().Done():
		case <-end:
		}
	}))
	ignore := admissionregistrationv1.Ignore
	scope, none := admissionregistrationv1.NamespacedScope, admissionregistrationv1.SideEffectClassNone
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "hangs-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "hangs.example.com", FailurePolicy: &ignore, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"", "apps"}, APIVersions: []string{"*"}, Resources: []string{"*"}, Scope: &scope},
			}},
		}},
	}
	must(t, kube.Create(t.Context(), webhook))
	t.Cleanup(func() {
		must(t, client.IgnoreNotFound(kube.Delete(context.WithoutCancel(t.Context()), webhook)))
	})
	t.Cleanup(func() {
		close(end)
		server.Close()
	})
	return hanging
}
