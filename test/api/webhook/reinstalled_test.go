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
// nobody restarts, publishes its CA again and manages new applications.
func TestDefinitionsReinstalled(t *testing.T) {
	plane, port := startPlane(t)
	stop, err := plane.StartOperator(t.Context(), port, nil)
	must(t, err)
	checkManaged(t, plane.Client, "before")

	all := &apiextensionsv1.CustomResourceDefinitionList{}
	must(t, plane.Client.List(t.Context(), all))
	for i := range all.Items {
		// The API server removes the objects only for the deletion of one definition, and not of a collection.
		must(t, plane.Client.Delete(t.Context(), &all.Items[i]))
	}
	eventually(t, "the definitions are deleted", func(ctx context.Context) error {
		if err := plane.Client.List(ctx, all); err != nil || len(all.Items) == 0 {
			return err
		}
		return errors.New(all.Items[0].Name + " is left")
	})
	must(t, plane.InstallCRD(t.Context(), port))
	must(t, plane.WaitForConversion(t.Context()))
	// No garbage collector runs here, so what the first application had is left, and another one cannot have its name.
	checkManaged(t, plane.Client, "afterwards")
	must(t, stop())
}

// checkManaged creates an application in the old version, and waits until it has its Deployment.
func checkManaged(t *testing.T, kube client.Client, name string) {
	t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}
	nginx := &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	must(t, kube.Create(t.Context(), nginx))
	eventually(t, "the application has its Deployment", func(ctx context.Context) error {
		deployment := &appsv1.Deployment{}
		if err := kube.Get(ctx, key, deployment); err != nil {
			return err
		}
		if !metav1.IsControlledBy(deployment, nginx) {
			return errors.New("the Deployment does not belong to the application")
		}
		return kube.Get(ctx, key, &v1alpha2.NginxOperator{})
	})
}
