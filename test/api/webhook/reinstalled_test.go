package webhook

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// TestDefinitionsReinstalled deletes all definitions while the operator runs, and installs them again. The operator, which
// nobody restarts, publishes its CA again, manages new applications, and takes a new one for another than the deleted one.
func TestDefinitionsReinstalled(t *testing.T) {
	plane, port := startPlane(t)
	stop, err := plane.StartOperator(t.Context(), port, nil)
	must(t, err)
	first := applied(t, plane.Client)

	must(t, plane.Client.DeleteAllOf(t.Context(), &apiextensionsv1.CustomResourceDefinition{}))
	eventually(t, "the definitions are deleted", func(ctx context.Context) error {
		all := &apiextensionsv1.CustomResourceDefinitionList{}
		if err := plane.Client.List(ctx, all); err != nil || len(all.Items) == 0 {
			return err
		}
		return errors.New(all.Items[0].Name + " is left")
	})
	must(t, plane.InstallCRD(t.Context(), port))
	must(t, plane.WaitForConversion(t.Context()))

	second := applied(t, plane.Client)
	if first == second {
		t.Error("the new application has the UID of the deleted one")
	}
	must(t, stop())
}

// applied creates an application in the old version, and returns its UID when its Deployment belongs to it.
func applied(t *testing.T, kube client.Client) (uid string) {
	t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "web"}
	nginx := &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	must(t, kube.Create(t.Context(), nginx))
	eventually(t, "the application has its Deployment", func(ctx context.Context) error {
		deployment := &appsv1.Deployment{}
		if err := kube.Get(ctx, key, deployment); err != nil {
			return err
		}
		if owner := metav1.GetControllerOf(deployment); owner == nil || owner.UID != nginx.UID {
			// No garbage collector runs here.
			return errors.Join(errors.New("the Deployment belongs to another application"), client.IgnoreNotFound(kube.Delete(ctx, deployment)))
		}
		current := &v1alpha2.NginxOperator{}
		return kube.Get(ctx, key, current)
	})
	return string(nginx.UID)
}
