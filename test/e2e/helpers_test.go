//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/test/internal/kubetest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
)

const (
	// patience bounds the wait for any condition. It does not measure speed: failing pods are
	// restarted at growing intervals, so it has to be minutes.
	patience = 4 * time.Minute
	pause    = 250 * time.Millisecond
	// cleanupLimit bounds the cleanup after a test, whose own context has ended by then.
	cleanupLimit = time.Minute
	// httpPort is the port of most applications in these tests.
	httpPort = 8080
)

var must = kubetest.Must

// newNamespace creates a namespace for one test, with the strictest Pod Security Standard.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	must(t, kube.Create(t.Context(), namespace))
	cleanup(t, func(ctx context.Context) error {
		if t.Failed() {
			t.Log(report(ctx, namespace.Name))
		}
		return kube.Delete(ctx, namespace)
	})
	return namespace.Name
}

// cleanup runs f after the test.
func cleanup(t *testing.T, f func(ctx context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
		defer cancel()
		if err := f(ctx); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	kubetest.Poll{Interval: pause, Timeout: patience}.Eventually(t, what, check)
}

func get(t *testing.T, obj client.Object) error {
	t.Helper()
	return kube.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
}

// gone returns nil if the error of a get says that the object does not exist.
func gone(err error) error {
	if err == nil {
		return errors.New("it still exists")
	}
	return client.IgnoreNotFound(err)
}

func ports(number int32) []v1alpha2.Port {
	return []v1alpha2.Port{{Name: "http", Port: number}}
}

// says returns a configuration that answers every request with a text.
func says(text string) *v1alpha2.Config {
	return &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": v1alpha2.ConfigFile(siteSaying(text))}}
}

func siteSaying(text string) string {
	return fmt.Sprintf("server {\n    listen %d;\n    return 200 %q;\n}\n", httpPort, text)
}

// saying returns the spec of an application that answers every request with a text.
func saying(text string, replicas int32) v1alpha2.NginxOperatorSpec {
	return v1alpha2.NginxOperatorSpec{Replicas: new(replicas), Ports: ports(httpPort), Config: says(text)}
}

// create creates an NginxOperator without waiting for anything.
func create(t *testing.T, namespace, name string, spec v1alpha2.NginxOperatorSpec) *v1alpha2.NginxOperator {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	must(t, kube.Create(t.Context(), nginx))
	return nginx
}

// createReady creates an NginxOperator and waits until it is Ready.
func createReady(t *testing.T, namespace, name string, spec v1alpha2.NginxOperatorSpec) *v1alpha2.NginxOperator {
	t.Helper()
	nginx := create(t, namespace, name, spec)
	waitReady(t, nginx)
	return nginx
}

// edit changes the spec. It retries after conflicts with the operator's own writes.
func edit(t *testing.T, nginx *v1alpha2.NginxOperator, change func(*v1alpha2.NginxOperatorSpec)) {
	t.Helper()
	update(t, nginx, func() { change(&nginx.Spec) })
}

// update changes an object, and retries after conflicts.
func update(t *testing.T, obj client.Object, change func()) {
	t.Helper()
	for {
		must(t, get(t, obj))
		change()
		err := kube.Update(t.Context(), obj)
		if !apierrors.IsConflict(err) {
			must(t, err)
			return
		}
	}
}

func waitReady(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	waitCondition(t, nginx, v1alpha2.ConditionReady, metav1.ConditionTrue, v1alpha2.ReasonReady)
}

// waitCondition waits until a condition has a status and a reason for the current generation of the
// spec.
func waitCondition(t *testing.T, nginx *v1alpha2.NginxOperator, name string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, fmt.Sprintf("%s is %s (%s)", name, status, reason), func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		var err error
		found, err = kubetest.Condition(nginx, name, status, reason)
		return err
	})
	return found
}

// waitMessage waits until a condition has a status and a reason, and its message contains all
// parts.
func waitMessage(t *testing.T, nginx *v1alpha2.NginxOperator, name string, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %s (%s) with %q", name, status, reason, parts), func() error {
		c := waitCondition(t, nginx, name, status, reason)
		for _, part := range parts {
			if !strings.Contains(c.Message, part) {
				return fmt.Errorf("the message is: %s", c.Message)
			}
		}
		return nil
	})
}

// passOver makes the operator reconcile again and waits until it has: what it has not changed by
// then, it leaves alone. It does so with a change that affects only the Service.
func passOver(t *testing.T, nginx *v1alpha2.NginxOperator, mark string) {
	t.Helper()
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		if s.Service == nil {
			s.Service = &v1alpha2.Service{}
		}
		s.Service.Annotations = map[string]string{"example.com/pass": mark}
	})
	eventually(t, "the operator has reconciled again", func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		return kubetest.Observed(nginx)
	})
}

func deploymentOf(t *testing.T, nginx *v1alpha2.NginxOperator) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: nginx.Namespace, Name: naming.Workload(nginx.Name)}, d))
	return d
}

// podsOf returns the pods of an application that are not terminating.
func podsOf(t *testing.T, nginx *v1alpha2.NginxOperator) []corev1.Pod {
	t.Helper()
	return slices.DeleteFunc(allPodsOf(t, nginx), func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// allPodsOf returns the pods of an application, including terminating ones.
func allPodsOf(t *testing.T, nginx *v1alpha2.NginxOperator) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(nginx.Namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name))))
	return list.Items
}

func replicaSetsOf(t *testing.T, nginx *v1alpha2.NginxOperator) []appsv1.ReplicaSet {
	t.Helper()
	list := &appsv1.ReplicaSetList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(nginx.Namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name))))
	return list.Items
}

// ownedObject reads the owned object of a kind, or returns nil if there is none.
func ownedObject(t *testing.T, nginx *v1alpha2.NginxOperator, kind owned.Kind) owned.Object {
	t.Helper()
	obj := kind.New()
	err := kube.Get(t.Context(), client.ObjectKey{Namespace: nginx.Namespace, Name: kind.ObjectName(nginx.Name)}, obj)
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(t, err)
	return obj
}

// kubectl runs kubectl and returns its output, including errors.
func kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), kubectlPath, args...).CombinedOutput()
	return string(output), err
}
