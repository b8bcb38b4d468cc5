// Package install tests how the kubectl plugin installs, checks and removes the operator on a real API server. No pods run
// there, so the tests set the status of the operator's Deployment.
package install

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/plugin"
	"example.com/nginx-operator/test/internal/kubetest"
	"example.com/nginx-operator/test/testenv"
)

const (
	version = "1.2.3"
	image   = "registry.example.com/nginx-operator:1.2.3"
)

var (
	plane   *testenv.ControlPlane
	kube    client.Client
	polling = kubetest.Poll{Interval: 50 * time.Millisecond, Timeout: 3 * time.Minute}
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	testenv.Main(m, func(_ context.Context, started *testenv.ControlPlane, dir string) (func() error, error) {
		plane, kube = started, started.Client
		// It empties namespaces that are deleted.
		manager, err := plane.StartControllerManager(dir, "namespace-controller", "garbage-collector-controller")
		if err != nil {
			return nil, err
		}
		return manager.Stop, nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outcome is what a command of the plugin does.
type outcome struct {
	code           int
	output, errors string
}

func kubectlNginx(t *testing.T, arguments ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := plugin.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, version)
	cmd.SetArgs(append(arguments, "--kubeconfig="+plane.Kubeconfig))
	code := plugin.Run(t.Context(), cmd, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// expect runs a command, and compares its exit code and parts of what it prints.
func expect(t *testing.T, code int, says []string, arguments ...string) {
	t.Helper()
	got := kubectlNginx(t, arguments...)
	if got.code != code {
		t.Errorf("%s: exit code %d, want %d", strings.Join(arguments, " "), got.code, code)
	}
	for _, text := range says {
		if !strings.Contains(got.output+got.errors, text) {
			t.Errorf("%s does not say %q:\n%s%s", strings.Join(arguments, " "), text, got.output, got.errors)
		}
	}
}

// operator is the Deployment of the operator.
func operator(t *testing.T) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{}
	must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: testenv.SystemNamespace, Name: "nginx-operator"}, deployment))
	return deployment
}

// change changes the Deployment of the operator.
func change(t *testing.T, edit func(*appsv1.Deployment)) {
	t.Helper()
	deployment := operator(t)
	before := deployment.DeepCopy()
	edit(deployment)
	must(t, kube.Patch(t.Context(), deployment, client.MergeFrom(before), client.FieldOwner("another")))
}

// becomeReady sets the status that the Deployment has when its pods are ready.
func becomeReady(t *testing.T) {
	t.Helper()
	deployment := operator(t)
	wanted := *deployment.Spec.Replicas
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: wanted, UpdatedReplicas: wanted, AvailableReplicas: wanted, ReadyReplicas: wanted}
	must(t, kube.Status().Update(t.Context(), deployment))
}

// exists reports whether an object is in the cluster.
func exists(t *testing.T, object client.Object) bool {
	t.Helper()
	err := kube.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	must(t, client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

func systemNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testenv.SystemNamespace}}
}
