// Package webhook provides admission webhooks that misbehave, for the writes in one namespace.
package webhook

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Webhook is an admission webhook for the objects that the operator creates in a namespace.
type Webhook struct {
	client  client.Client
	config  *admissionregistrationv1.ValidatingWebhookConfiguration
	server  *httptest.Server
	stopped chan struct{}
	hanging atomic.Int64
}

// Hang starts a webhook that never answers: every write takes the 30 seconds that the API server waits, and succeeds then.
func Hang(ctx context.Context, c client.Client, namespace string) (*Webhook, error) {
	w := &Webhook{client: c, stopped: make(chan struct{})}
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w.hanging.Add(1)
		defer w.hanging.Add(-1)
		select {
		case <-r.Context().Done():
		case <-w.stopped:
		}
	}))
	return w, w.register(ctx, namespace, admissionregistrationv1.Ignore)
}

// Fail starts a webhook that fails, and every write with it.
func Fail(ctx context.Context, c client.Client, namespace string) (*Webhook, error) {
	w := &Webhook{client: c, stopped: make(chan struct{})}
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "it is broken", http.StatusInternalServerError)
	}))
	return w, w.register(ctx, namespace, admissionregistrationv1.Fail)
}

func (w *Webhook) register(ctx context.Context, namespace string, policy admissionregistrationv1.FailurePolicyType) error {
	scope, none := admissionregistrationv1.NamespacedScope, admissionregistrationv1.SideEffectClassNone
	w.config = &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "misbehaves-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "misbehaves.example.com", FailurePolicy: &policy, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &w.server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"", "apps"}, APIVersions: []string{"*"}, Resources: []string{"*"}, Scope: &scope},
			}},
		}},
	}
	err := w.client.Create(ctx, w.config)
	if err != nil {
		w.server.Close()
	}
	return err
}

// Hanging returns the number of writes that wait at the moment.
func (w *Webhook) Hanging() int64 { return w.hanging.Load() }

// Stop ends the webhook, and with it the writes that wait.
func (w *Webhook) Stop(ctx context.Context) error {
	err := w.client.Delete(ctx, w.config)
	close(w.stopped)
	w.server.Close()
	return client.IgnoreNotFound(err)
}
