package webhook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/retry"

	"example.com/nginx-operator/test/internal/kubetest"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/testenv"
)

// patience bounds the wait for a condition. It does not measure speed.
const patience = 3 * time.Minute

func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	if err := (kubetest.Poll{Interval: 20 * time.Millisecond, Timeout: patience}).Until(t.Context(), check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// startPlane starts a control plane with the CRD, whose conversion is served at the port.
func startPlane(t *testing.T) (plane *testenv.ControlPlane, port int) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	plane, err := testenv.Start(t.TempDir())
	must(t, err)
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	port, err = testenv.FreePort()
	must(t, err)
	must(t, plane.InstallCRD(t.Context(), port))
	return plane, port
}

// full returns an object with fields that v1alpha1 does not have.
func full(name string) *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha2.NginxOperatorSpec{
			Image: new("nginx:mine"), Replicas: new(int32(2)), ForceRedeploy: new("now"),
			Ports:   []v1alpha2.Port{{Name: "web", Port: 8080, Protocol: corev1.ProtocolTCP}, {Name: "admin", Port: 8081, Protocol: corev1.ProtocolTCP}},
			Config:  &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "server { listen 8080; listen 8081; }"}},
			Drain:   &v1alpha2.Drain{DelaySeconds: new(int32(1))},
			Service: &v1alpha2.Service{Annotations: map[string]string{"example.com/a": "b"}},
		},
	}
}

func oldVersion(name string) *v1alpha1.NginxOperator {
	return &v1alpha1.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// refusedBySchema is the message for an unconverted write.
const refusedBySchema = "Write the object as operator.example.com/v1alpha2"

// writes are all ways to change an object as v1alpha1, and the error message of each.
var writes = []struct {
	name    string
	refused string
	write   func(ctx context.Context, kube client.Client, name string) error
}{
	{"label", refusedBySchema, func(ctx context.Context, kube client.Client, name string) error {
		return kube.Patch(ctx, oldVersion(name), merge(`{"metadata":{"labels":{"example.com/a":"b"}}}`))
	}},
	{"edit", refusedBySchema, func(ctx context.Context, kube client.Client, name string) error {
		return kube.Patch(ctx, oldVersion(name), merge(`{"spec":{"port":8082}}`))
	}},
	{"replace", refusedBySchema, func(ctx context.Context, kube client.Client, name string) error {
		// The operator writes the status meanwhile.
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			object := oldVersion(name)
			if err := kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			object.Spec.Port, object.Spec.Replicas = new(int32(8083)), new(int32(1))
			return kube.Update(ctx, object)
		})
	}},
	// An apply fails before the schema is checked.
	{"apply", ".spec.port: field not declared in schema", func(ctx context.Context, kube client.Client, name string) error {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NginxOperator"))
		object.SetNamespace("default")
		object.SetName(name)
		object.Object["spec"] = map[string]any{"port": int64(8084)}
		return kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("someone"), client.ForceOwnership)
	}},
	{"scale", refusedBySchema, func(ctx context.Context, kube client.Client, name string) error {
		return kube.SubResource("scale").Patch(ctx, oldVersion(name), merge(`{"spec":{"replicas":3}}`))
	}},
	{"status", refusedBySchema, func(ctx context.Context, kube client.Client, name string) error {
		return kube.Status().Patch(ctx, oldVersion(name), merge(`{"status":{"restarts":3}}`))
	}},
}

// convertNothing sets the conversion as the Operator Lifecycle Manager does when the
// ClusterServiceVersion is deleted, and waits until the API server has observed it.
func convertNothing(t *testing.T, plane *testenv.ControlPlane, object *v1alpha2.NginxOperator) {
	t.Helper()
	must(t, plane.ChangeCRD(t.Context(), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}))
	eventually(t, "v1alpha1 is read unconverted", func(ctx context.Context) error {
		old := oldVersion(object.Name)
		if err := plane.Client.Get(ctx, client.ObjectKeyFromObject(old), old); err != nil {
			return err
		}
		if old.Spec.Port != nil {
			return fmt.Errorf("it has the port %d", *old.Spec.Port)
		}
		return nil
	})
}

// TestNothingIsWrittenUnconverted: with the webhook, objects can be written as v1alpha1 in every
// way. Without conversion, nothing can be written, because that would lose the fields that v1alpha1
// does not have.
func TestNothingIsWrittenUnconverted(t *testing.T) {
	plane, port := startPlane(t)
	stop, err := plane.StartOperator(t.Context(), port, nil)
	must(t, err)
	kube := plane.Client
	converted, kept := full("converted"), full("kept")
	must(t, errors.Join(kube.Create(t.Context(), converted), kube.Create(t.Context(), kept)))
	for _, w := range writes {
		if err := w.write(t.Context(), kube, "converted"); err != nil {
			t.Errorf("%s is refused although the webhook converts: %v", w.name, err)
		}
	}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(converted), converted))
	if converted.Spec.Ports[0].Port != 8084 || *converted.Spec.Replicas != 3 || len(converted.Spec.Ports) != 2 || converted.Spec.Image == nil {
		t.Errorf("the webhook has converted to %+v", converted.Spec)
	}
	must(t, stop())

	convertNothing(t, plane, kept)
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(kept), kept))
	for _, w := range writes {
		err := w.write(t.Context(), kube, "kept")
		if err == nil || !strings.Contains(err.Error(), w.refused) {
			t.Errorf("%s without a conversion: %v", w.name, err)
		}
	}
	after := full("kept")
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(after), after))
	if diff := cmp.Diff(kept, after); diff != "" {
		t.Errorf("it has changed: %s", diff)
	}
	must(t, kube.Patch(t.Context(), after, merge(`{"metadata":{"labels":{"example.com/a":"b"}}}`)))
	checkDeletions(t, plane)
	checkCreations(t, plane, port)
}

// checkDeletions checks that objects and a namespace can be deleted while nothing converts.
func checkDeletions(t *testing.T, plane *testenv.ControlPlane) {
	t.Helper()
	manager, err := plane.StartControllerManager(t.TempDir(), "garbage-collector-controller", "namespace-controller")
	must(t, err)
	defer func() { must(t, manager.Stop()) }()
	kube := plane.Client
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		for _, version := range []string{"v1alpha1", "v1alpha2"} {
			for _, finalizer := range []string{"", "example.com/wait"} {
				name := strings.ToLower(fmt.Sprintf("deleted-%s-%s-%t", policy, version, finalizer != ""))
				object := full(name)
				if finalizer != "" {
					object.Finalizers = []string{finalizer}
				}
				must(t, kube.Create(t.Context(), object))
				must(t, kube.Delete(t.Context(), testenv.Object(version, "default", name), client.PropagationPolicy(policy)))
				if finalizer != "" {
					release(t, kube, object, finalizer)
				}
				checkGone(t, kube, object)
			}
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "deleted"}}
	inside := full("inside")
	inside.Namespace = namespace.Name
	must(t, errors.Join(kube.Create(t.Context(), namespace), kube.Create(t.Context(), inside), kube.Delete(t.Context(), namespace)))
	checkGone(t, kube, namespace)
}

// release removes a finalizer while the garbage collector removes its own.
func release(t *testing.T, kube client.Client, object *v1alpha2.NginxOperator, finalizer string) {
	t.Helper()
	must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		object.Finalizers = slices.DeleteFunc(object.Finalizers, func(f string) bool { return f == finalizer })
		return kube.Update(t.Context(), object)
	}))
}

func checkGone(t *testing.T, kube client.Client, object client.Object) {
	t.Helper()
	eventually(t, object.GetName()+" is gone", func(ctx context.Context) error {
		err := kube.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("it has the finalizers %v", object.GetFinalizers()))
	})
}

// checkCreations creates objects as v1alpha1. The schema cannot detect that nothing converts them,
// but the policy can. If v1alpha1 is not served, everything is rejected.
func checkCreations(t *testing.T, plane *testenv.ControlPlane, port int) {
	t.Helper()
	kube := plane.Client
	installPolicy(t, kube)
	eventually(t, "the policy refuses to create", func(ctx context.Context) error {
		err := kube.Create(ctx, oldVersion("created"), client.DryRunAll)
		if apierrors.IsInvalid(err) && strings.Contains(err.Error(), "no conversion webhook") {
			return nil
		}
		return fmt.Errorf("the answer is %w", err)
	})
	must(t, kube.Create(t.Context(), full("created")))
	must(t, kube.Delete(t.Context(), oldVersion("created")))

	serveOld(t, plane, false)
	eventually(t, "v1alpha1 is not served", func(ctx context.Context) error {
		if err := kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "kept"}, oldVersion("kept")); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it says %w", err)
		}
		return nil
	})
	serveOld(t, plane, true)
	must(t, plane.ChangeCRD(t.Context(), func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Conversion = unpublished(port) }))
	stop, err := plane.StartOperator(t.Context(), port, nil)
	must(t, err)
	defer func() { must(t, stop()) }()
	eventually(t, "the policy lets pass what is converted", func(ctx context.Context) error {
		return kube.Create(ctx, oldVersion("converted-again"))
	})
	for _, w := range writes {
		if err := w.write(t.Context(), kube, "kept"); err != nil {
			t.Errorf("%s is refused after the operator was installed again: %v", w.name, err)
		}
	}
}

func serveOld(t *testing.T, plane *testenv.ControlPlane, served bool) {
	t.Helper()
	must(t, plane.ChangeCRD(t.Context(), func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			if crd.Spec.Versions[i].Name == "v1alpha1" {
				crd.Spec.Versions[i].Served = served
			}
		}
	}))
}

// unpublished returns a conversion without a CA, as in the manifests.
func unpublished(port int) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://localhost:%d/convert", port))},
		},
	}
}

// installPolicy applies config/policy.
func installPolicy(t *testing.T, kube client.Client) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Root(), "config", "policy", "validating_admission_policy.yaml"))
	must(t, err)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		must(t, yaml.UnmarshalStrict([]byte(document), object))
		must(t, kube.Create(t.Context(), object))
	}
}
