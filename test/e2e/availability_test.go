//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

func waitReplicas(t *testing.T, nginx *v1alpha2.NginxOperator, want int32) {
	t.Helper()
	eventually(t, fmt.Sprintf("the Deployment requests %d replicas", want), func() error {
		if n := ptr.Deref(deploymentOf(t, nginx).Spec.Replicas, 1); n != want {
			return fmt.Errorf("it requests %d", n)
		}
		return nil
	})
}

// TestAutoscaler: the operator leaves the replicas to a HorizontalPodAutoscaler until that is
// deleted. Below minReplicas, the autoscaler scales without any metrics.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 2))
	hpa := autoscaler(nginx)
	must(t, kube.Create(t.Context(), hpa))
	waitReplicas(t, nginx, 3)
	waitReady(t, nginx)

	passOver(t, nginx, "autoscaled")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("autoscaled") })
	waitReady(t, nginx)
	if n := ptr.Deref(deploymentOf(t, nginx).Spec.Replicas, 1); n != 3 {
		t.Errorf("the operator has put %d replicas where the autoscaler wants 3", n)
	}
	if n := nginx.Status.ReadyReplicas; n != 3 {
		t.Errorf("the status has %d ready replicas", n)
	}

	must(t, kube.Delete(t.Context(), hpa))
	waitReplicas(t, nginx, 2)
	waitReady(t, nginx)
}

func autoscaler(nginx *v1alpha2.NginxOperator) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: naming.Workload(nginx.Name),
			},
			MinReplicas: new(int32(3)),
			MaxReplicas: 4,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name:   corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))},
				},
			}},
		},
	}
}

func budgetOf(nginx *v1alpha2.NginxOperator) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Namespace: nginx.Namespace, Name: naming.PodDisruptionBudget(nginx.Name),
	}}
}

// TestDisruptionBudget: the budget exists only with 2 or more replicas. With fewer, it would block
// a drain for ever.
func TestDisruptionBudget(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 1))
	must(t, gone(get(t, budgetOf(nginx))))
	scale := func(replicas int32) {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = &replicas })
		waitReady(t, nginx)
	}
	scale(2)
	must(t, get(t, budgetOf(nginx)))
	scale(1)
	must(t, gone(get(t, budgetOf(nginx))))
}

// TestDrain: when the pods are evicted one after the other, as in a drain of their nodes, no
// request is lost. The second pod may be evicted only after the first has been replaced.
func TestDrain(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 2))
	waitDisruptionAllowed(t, nginx)
	traffic := startTraffic(t, nginx, "hello")
	pods := podsOf(t, nginx)
	must(t, evict(t, &pods[0]))
	if err := evict(t, &pods[1]); !apierrors.IsTooManyRequests(err) {
		t.Errorf("evicting the second pod at once: %v", err)
	}
	eventually(t, "the second pod may go", func() error { return evict(t, &pods[1]) })
	waitReady(t, nginx)
	for i := range pods {
		eventually(t, "the evicted pod is gone", func() error { return gone(get(t, &pods[i])) })
	}
	waitReady(t, nginx)
	traffic.stop(t)
}

func waitDisruptionAllowed(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	budget := budgetOf(nginx)
	eventually(t, "one pod may be disrupted", func() error {
		if err := get(t, budget); err != nil {
			return err
		}
		if budget.Status.DisruptionsAllowed != 1 {
			return errors.New("none may")
		}
		return nil
	})
}

func evict(t *testing.T, pod *corev1.Pod) error {
	t.Helper()
	return clientset.PolicyV1().Evictions(pod.Namespace).Evict(t.Context(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
	})
}
