package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
)

func deployment(t *testing.T, nginx *v1alpha2.NginxOperator) *appsv1.Deployment {
	t.Helper()
	d, ok := ownedObject(t, nginx, "Deployment").(*appsv1.Deployment)
	if !ok {
		t.Fatal("there is no Deployment")
	}
	return d
}

// waitDropped waits until Accepted reports the fields that the cluster does not keep, or none if text
// is empty.
func waitDropped(t *testing.T, nginx *v1alpha2.NginxOperator, text string) {
	t.Helper()
	eventually(t, "Accepted reports "+text, func() error {
		must(t, get(t, nginx))
		accepted := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionAccepted)
		if accepted == nil || accepted.Status != metav1.ConditionTrue || !strings.Contains(accepted.Message, text) || text == "" && strings.Contains(accepted.Message, "keep") {
			return fmt.Errorf("it is %v", accepted)
		}
		return nil
	})
}

// wantNoWrites fails the test if an application's objects are written repeatedly. It ignores what other
// tests have left behind.
func wantNoWrites(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	settled(t)
	before := len(running.writtenIn(nginx.Namespace))
	settled(t)
	if now := running.writtenIn(nginx.Namespace); len(now) != before {
		t.Fatalf("objects are written repeatedly: %v", now[before:])
	}
}

// TestDroppedField: the operator settles if the API server drops a field whose feature is off. It
// reports the field and still reverts drift of all others.
func TestDroppedField(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{
		PodTemplate: &v1alpha2.PodTemplate{
			Volumes: []v1alpha2.Volume{{Name: "empty", EmptyDir: &corev1.EmptyDirVolumeSource{Mode: new(int32(0o700))}}},
		},
	})
	waitDropped(t, nginx, "does not keep Deployment spec.template.spec.volumes[empty].emptyDir.mode")
	wantNoWrites(t, nginx)

	d := deployment(t, nginx)
	declared := *d.Spec.Template.Spec.TerminationGracePeriodSeconds
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(1))
	must(t, kube.Update(t.Context(), d))
	eventually(t, "another field is healed", func() error {
		if now := *deployment(t, nginx).Spec.Template.Spec.TerminationGracePeriodSeconds; now != declared {
			return fmt.Errorf("it is %d", now)
		}
		return nil
	})
	wantNoWrites(t, nginx)

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate.Volumes[0].EmptyDir.Mode = nil })
	waitDropped(t, nginx, "")
}

// TestUnknownVolume: content that an older API server cannot mount is rejected, because a volume
// without its source would be an empty folder. 1.30 does not know the field, and up to 1.34 the volume is dropped.
func TestUnknownVolume(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Content: []v1alpha2.Content{imageContent()}})
	if servesFrom(t, "1.35.0") {
		waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
		return
	}
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonRejected)
	want := "image: field not declared in schema"
	if servesFrom(t, "1.31.0") {
		want = "the API server does not keep images as volumes (spec.template.spec.volumes[content-"
	}
	accepted := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionAccepted)
	if !strings.Contains(accepted.Message, want) {
		t.Errorf("the condition says %q", accepted.Message)
	}
	if ownedObject(t, nginx, "Deployment") != nil {
		t.Error("a Deployment was created")
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Content = nil })
	waitDropped(t, nginx, "")
}

// TestMutatedField: the operator does not fight an admission policy that changes what it writes.
func TestMutatedField(t *testing.T) {
	namespace := newNamespace(t)
	mutate(t, namespace, "apps", "deployments", `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{schedulerName: "theirs"}}}}`)
	labels := map[string]string{"a": "b"}
	inForce(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			},
		},
	}, func(d *appsv1.Deployment) bool { return d.Spec.Template.Spec.SchedulerName == "theirs" })
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{PodTemplate: &v1alpha2.PodTemplate{SchedulerName: new("ours")}})
	waitDropped(t, nginx, "does not keep Deployment spec.template.spec.schedulerName")
	wantNoWrites(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate.SchedulerName = new("theirs") })
	waitDropped(t, nginx, "")
	wantNoWrites(t, nginx)
}

// TestAddedByAdmission: the operator does not fight a policy that adds a file to the configuration
// either.
func TestAddedByAdmission(t *testing.T) {
	namespace := newNamespace(t)
	mutate(t, namespace, "", "configmaps", `Object{data: Object.data{added: "theirs"}}`)
	inForce(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}},
		func(cm *corev1.ConfigMap) bool { return cm.Data["added"] == "theirs" })
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	waitDropped(t, nginx, "does not keep ConfigMap data.added")
	wantNoWrites(t, nginx)
}

// mutate makes the API server change every object of a resource in a namespace.
func mutate(t *testing.T, namespace, group, resource, expression string) {
	t.Helper()
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
				}}},
			},
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: expression},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: namespace},
	}
	for _, object := range []client.Object{policy, binding} {
		must(t, kube.Create(t.Context(), object))
		t.Cleanup(func() { _ = kube.Delete(t.Context(), object) }) // the control plane ends soon
	}
}

// inForce waits until a policy changes an object that is created as a dry run.
func inForce[T client.Object](t *testing.T, object T, changed func(T) bool) {
	t.Helper()
	eventually(t, "the policy is in force", func() error {
		created, ok := object.DeepCopyObject().(T)
		if !ok {
			t.Fatalf("%T is another type", object)
		}
		must(t, kube.Create(t.Context(), created, client.DryRunAll))
		if !changed(created) {
			return errors.New("it changes nothing")
		}
		return nil
	})
}
