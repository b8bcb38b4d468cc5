//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
	crds "example.com/nginx-operator/test/external"
)

// TestExposingObjects: with its own permissions, the operator notices that definitions are installed, and creates,
// corrects and deletes the objects that expose an application. It leaves the objects of others alone.
func TestExposingObjects(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	spec := saying("hello", 1)
	spec.Ingress = &v1alpha2.Ingress{Hosts: []v1alpha2.IngressHost{{}}}
	spec.HTTPRoutes = []v1alpha2.HTTPRoute{{Name: "main", ParentRefs: []v1alpha2.ParentReference{{Name: "public"}}}}
	spec.TLS = []v1alpha2.Certificate{{Name: "site", SecretName: "site-tls", Certificate: &v1alpha2.IssuedCertificate{
		IssuerRef: v1alpha2.IssuerReference{Name: "ca"}, DNSNames: []v1alpha2.Hostname{"web.example.com"},
	}}}
	nginx := create(t, namespace, "web", spec)
	installAbsent(t, crds.HTTPRoutes)
	installAbsent(t, crds.Certificates)

	objects := []client.Object{
		&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}},
		optional(external.HTTPRoute(), namespace, naming.HTTPRoute("web", "main")),
		optional(external.Certificate(), namespace, naming.Certificate("web", "site")),
	}
	for _, obj := range objects {
		eventually(t, obj.GetName()+" is created", func() error { return get(t, obj) })
		before := obj.GetUID()
		must(t, kube.Delete(t.Context(), obj))
		eventually(t, obj.GetName()+" is back", func() error {
			if err := get(t, obj); err != nil {
				return err
			}
			if obj.GetUID() == before {
				return fmt.Errorf("it is not deleted yet")
			}
			return nil
		})
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Ingress, s.HTTPRoutes, s.TLS = nil, nil, nil })
	for _, obj := range objects {
		eventually(t, obj.GetName()+" is gone", func() error { return gone(get(t, obj)) })
	}
	waitReady(t, nginx)

	// Objects of these names that the application does not own.
	for _, obj := range objects {
		obj.SetUID("")
		obj.SetResourceVersion("")
		obj.SetOwnerReferences(nil)
		obj.SetLabels(nil)
		must(t, kube.Create(t.Context(), obj))
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Ingress, s.HTTPRoutes, s.TLS = spec.Ingress, spec.HTTPRoutes, spec.TLS
	})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonNameConflict)
	waitMessage(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionFalse, v1alpha2.ReasonApplyFailed,
		"Ingress web", "HTTPRoute web-main", "Certificate web-site")
}

func optional(kind owned.Kind, namespace, name string) *unstructured.Unstructured {
	obj := kind.New().(*unstructured.Unstructured)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// installAbsent installs a definition for the time of the test, unless the cluster has it.
func installAbsent(t *testing.T, definition func() (*apiextensionsv1.CustomResourceDefinition, error)) {
	t.Helper()
	crd, err := definition()
	must(t, err)
	err = get(t, crd.DeepCopy())
	if err == nil {
		return
	}
	must(t, client.IgnoreNotFound(err))
	config, err := ctrl.GetConfig()
	must(t, err)
	must(t, crds.Install(t.Context(), kube, config, crd))
	cleanup(t, func(ctx context.Context) error { return kube.Delete(ctx, crd) })
}
