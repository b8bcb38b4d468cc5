// Package plugin tests the kubectl plugin against a real API server without an operator, so that objects keep the states that
// the tests give them.
package plugin

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin"
	"example.com/nginx-operator/test/internal/kubetest"
	"example.com/nginx-operator/test/testenv"
)

var (
	plane *testenv.ControlPlane
	kube  client.Client
	must  = kubetest.Must
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	testenv.Main(m, func(ctx context.Context, started *testenv.ControlPlane, _ string) (func() error, error) {
		plane, kube = started, started.Client
		return nil, plane.InstallCRD(ctx, 0)
	})
}

// outcome is what a command does.
type outcome struct {
	code           int
	output, errors string
}

// run runs a command, which prints to a writer, too.
func run(t *testing.T, kubeconfig string, also io.Writer, arguments ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := plugin.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.MultiWriter(&out, also), ErrOut: &errOut}, "test")
	cmd.SetArgs(append(arguments, "--kubeconfig="+kubeconfig))
	code := plugin.Run(t.Context(), cmd, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// kubectlNginx runs a command as an administrator.
func kubectlNginx(t *testing.T, command string) outcome {
	t.Helper()
	return run(t, plane.Kubeconfig, io.Discard, strings.Fields(command)...)
}

// want compares an outcome with an exit code and a part of what is printed.
func (o outcome) want(t *testing.T, code int, says string) {
	t.Helper()
	if o.code != code || !strings.Contains(o.output+o.errors, says) {
		t.Errorf("exit code %d, want %d and %q:\n%s%s", o.code, code, says, o.output, o.errors)
	}
}

func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "plugin-"}}
	must(t, kube.Create(t.Context(), namespace))
	return namespace.Name
}

// create creates an application whose operator reports a condition Ready.
func create(t *testing.T, namespace, name string, ready metav1.ConditionStatus, message string) *v1alpha2.NginxOperator {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	must(t, kube.Create(t.Context(), nginx))
	report(t, nginx, ready, message)
	return nginx
}

// report sets the condition Ready of the present spec.
func report(t *testing.T, nginx *v1alpha2.NginxOperator, ready metav1.ConditionStatus, message string) {
	t.Helper()
	reportCondition(t, nginx, metav1.Condition{Type: v1alpha2.ConditionReady, Status: ready, Reason: "Tested", Message: message})
}

// reportCondition sets a condition of the present spec.
func reportCondition(t *testing.T, nginx *v1alpha2.NginxOperator, c metav1.Condition) {
	t.Helper()
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), nginx))
	c.ObservedGeneration = nginx.Generation
	meta.SetStatusCondition(&nginx.Status.Conditions, c)
	must(t, kube.Status().Update(t.Context(), nginx))
}
