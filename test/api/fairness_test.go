package api

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/webhook"
)

// TestHangingNamespace: while an admission webhook of one namespace never answers, applications in other namespaces are
// created and changed.
func TestHangingNamespace(t *testing.T) {
	slow := newNamespace(t)
	hanging, err := webhook.Hang(t.Context(), kube, slow)
	must(t, err)
	t.Cleanup(func() { must(t, hanging.Stop(context.WithoutCancel(t.Context()))) })
	const applications = 24 // With all workers, they hang for several minutes.
	for i := range applications {
		must(t, kube.Create(t.Context(), &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: slow, Name: fmt.Sprintf("web-%d", i)}}))
	}
	eventually(t, "writes hang", func() error {
		if hanging.Hanging() == 0 {
			return errors.New("none does")
		}
		return nil
	})
	for range 3 {
		nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{})
		edit(t, nginx, func(spec *v1alpha2.NginxOperatorSpec) { spec.Image = new("nginx:another") })
	}
	if hanging.Hanging() == 0 {
		t.Error("no write hangs any more, so the test shows nothing")
	}
}
