//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// operatorLabels select the pods of the operator, as in config/manager.
var operatorLabels = map[string]string{"app.kubernetes.io/name": operatorName, "app.kubernetes.io/component": "manager"}

func operatorPods(t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels(operatorLabels)))
	return list.Items
}

// killOperator kills every replica of the operator without any time for cleanup.
func killOperator(t *testing.T) {
	t.Helper()
	for _, pod := range operatorPods(t, operatorNamespace) {
		err := kube.Delete(t.Context(), &pod, client.GracePeriodSeconds(0), client.Preconditions{UID: new(pod.UID)})
		must(t, client.IgnoreNotFound(err))
	}
}

// waitOperator waits until every replica of an operator is available and no other one is left.
func waitOperator(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the operator is available in "+namespace, func() error {
		return operatorAvailable(t.Context(), namespace)
	})
}

func operatorAvailable(ctx context.Context, namespace string) error {
	d := &appsv1.Deployment{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operatorName}, d); err != nil {
		return err
	}
	want := ptr.Deref(d.Spec.Replicas, 1)
	if s := d.Status; s.ObservedGeneration < d.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want {
		return fmt.Errorf("%d of %d replicas are available", s.AvailableReplicas, want)
	}
	// The Deployment's status does not count terminating pods.
	pods := &corev1.PodList{}
	if err := kube.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(operatorLabels)); err != nil {
		return err
	}
	if n := len(pods.Items); n != int(want) {
		return fmt.Errorf("there are %d pods for %d replicas", n, want)
	}
	return nil
}

// TestOperatorKilled: many changes are completed although the operator is killed twice in the
// middle of them.
func TestOperatorKilled(t *testing.T) {
	namespace := newNamespace(t)
	t.Cleanup(func() { waitOperatorAgain(t) })
	var apps []*v1alpha2.NginxOperator
	for i := range 6 {
		apps = append(apps, create(t, namespace, fmt.Sprintf("web-%d", i), saying("before", 1)))
	}
	killOperator(t)
	for i, nginx := range apps[:3] {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
			s.Config = says(fmt.Sprintf("edited %d", i))
			s.Replicas = new(int32(2))
		})
	}
	must(t, kube.Delete(t.Context(), apps[5]))
	waitOperator(t, operatorNamespace)
	edit(t, apps[3], func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("edited 3") })
	killOperator(t)

	for i, nginx := range apps[:5] {
		waitReady(t, nginx)
		want := "before"
		if i <= 3 {
			want = fmt.Sprintf("edited %d", i)
		}
		waitAnswer(t, nginx, want)
	}
	waitNothingLeft(t, apps[5])
}

// waitOperatorAgain waits for the operator at the end of a test that stopped it, because the next
// test relies on it. It does not use the test's context, which has ended by then.
func waitOperatorAgain(t *testing.T) {
	t.Helper()
	eventually(t, "the operator is available again", func() error {
		return operatorAvailable(context.Background(), operatorNamespace)
	})
	eventually(t, "the conversion webhook answers again", func() error {
		return kube.List(context.Background(), &v1alpha1.NginxOperatorList{})
	})
}
