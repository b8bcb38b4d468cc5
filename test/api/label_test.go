package api

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/standin/kubelet"
)

// TestDeploymentWithoutItsLabel: a Deployment that has lost its label is not taken for a missing
// one, which would reset the replicas to those of the spec.
func TestDeploymentWithoutItsLabel(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(1))})
	must(t, kube.Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    9,
		},
	}))
	scale(t, nginx, 4)
	settled(t)
	live := ownedObject(t, nginx, "Deployment").(*appsv1.Deployment)
	unlabel(t, live)
	eventually(t, "it has its label again, and nothing of how it got it", func() error {
		live = ownedObject(t, nginx, "Deployment").(*appsv1.Deployment)
		if err := same(live.Labels[naming.LabelApplication], "web"); err != nil {
			return err
		}
		return operatorOwnsByApplyAlone(live)
	})
	settled(t)
	must(t, same(*ownedObject(t, nginx, "Deployment").(*appsv1.Deployment).Spec.Replicas, 4))
}

// TestHistoryWithoutItsLabel: a history that has lost its label is found before another one is
// begun.
func TestHistoryWithoutItsLabel(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{})
	settled(t)
	unlabelHistory := func() {
		for _, revision := range revisionsOf(t, nginx) {
			unlabel(t, &revision)
		}
	}
	labelled := func(want ...int64) func() error {
		return func() error {
			var numbers []int64
			for _, revision := range revisionsOf(t, nginx) {
				if revision.Labels[naming.LabelApplication] != "web" {
					return fmt.Errorf("%s has no label", revision.Name)
				}
				numbers = append(numbers, revision.Revision)
			}
			slices.Sort(numbers)
			return same(fmt.Sprint(numbers), fmt.Sprint(want))
		}
	}
	unlabelHistory()
	eventually(t, "it is found", labelled(1))

	unlabelHistory()
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:other") })
	eventually(t, "the rollout continues", labelled(2)) // the first revision was never good
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
}

// TestForeignPod: a foreign pod with the application's label does not hold up a rollout.
func TestForeignPod(t *testing.T) {
	f := newFleet(t, 1)
	foreign := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.nginx.Namespace, Name: "debug", Labels: naming.SelectorLabels("web")},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "sh", Image: "sh:1"}}},
	}
	must(t, kube.Create(t.Context(), foreign))
	f.configure("second")
	f.waitServing("second")
	edit(t, f.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:other") })
	eventually(t, "the rollout begins", func() error {
		return same(kubelet.Image(&ownedObject(t, f.nginx, "Deployment").(*appsv1.Deployment).Spec.Template.Spec), "nginx:other")
	})
}

func unlabel(t *testing.T, object client.Object) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, naming.LabelApplication)
	must(t, kube.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner("another-client")))
}

// revisionsOf returns the revisions of an application, with or without the label.
func revisionsOf(t *testing.T, nginx *v1alpha2.NginxOperator) []appsv1.ControllerRevision {
	t.Helper()
	list := &appsv1.ControllerRevisionList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(nginx.Namespace)))
	return list.Items
}

// operatorOwnsByApplyAlone returns an error if the operator owns fields in another way as well.
func operatorOwnsByApplyAlone(object client.Object) error {
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == naming.FieldManager && entry.Operation != metav1.ManagedFieldsOperationApply {
			return fmt.Errorf("the operator has fields by %s as well: %s", entry.Operation, entry.FieldsV1)
		}
	}
	return nil
}
