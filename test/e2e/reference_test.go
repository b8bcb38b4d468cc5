//go:build e2e

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestReferencedConfiguration: the operator follows the ConfigMap in spec.config when it is
// missing, created, changed and deleted.
func TestReferencedConfiguration(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Ports:  ports(httpPort),
		Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "web-conf"}},
	})
	missing := func() {
		waitMessage(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonConfigMapNotFound, "web-conf", namespace)
		waitCondition(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonConfigMapNotFound)
	}
	missing()

	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-conf"},
		Data:       map[string]string{"site.conf": siteSaying("one")},
	}
	must(t, kube.Create(t.Context(), cm))
	waitReady(t, nginx)
	waitAnswer(t, nginx, "one")

	update(t, cm, func() { cm.Data["site.conf"] = siteSaying("two") })
	waitAnswer(t, nginx, "two")
	waitReady(t, nginx)

	traffic := startTraffic(t, nginx, "two")
	must(t, kube.Delete(t.Context(), cm))
	missing()
	waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonMinimumReplicasAvailable)
	traffic.stop(t)
}

// TestReferencedContent: the operator follows a ConfigMap of pages in spec.content.
func TestReferencedContent(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	nginx := create(t, namespace, "site", v1alpha2.NginxOperatorSpec{
		Ports: ports(httpPort),
		Content: []v1alpha2.Content{{
			MountPath: "/usr/share/nginx/html",
			ConfigMap: &v1alpha2.ConfigMapReference{Name: "pages"},
		}},
	})
	waitMessage(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonConfigMapNotFound, "pages", "spec.content")
	must(t, kube.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pages"},
		Data:       map[string]string{"index.html": "a page of mine"},
	}))
	waitReady(t, nginx)
	waitAnswer(t, nginx, "a page of mine")

	pods := podUIDs(t, nginx)
	pages := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pages"}}
	update(t, pages, func() { pages.Data["index.html"] = "another page" })
	waitAnswer(t, nginx, "another page")
	if diff := cmp.Diff(pods, podUIDs(t, nginx)); diff != "" {
		t.Errorf("a change of the content replaced pods:\n%s", diff)
	}
}

// TestEqualNames: two applications can have the same name in two namespaces.
func TestEqualNames(t *testing.T) {
	t.Parallel()
	one := create(t, newNamespace(t), "web", saying("one", 1))
	two := create(t, newNamespace(t), "web", saying("two", 1))
	waitReady(t, one)
	waitReady(t, two)
	waitAnswer(t, one, "one")
	waitAnswer(t, two, "two")

	traffic := startTraffic(t, two, "two")
	must(t, kube.Delete(t.Context(), one))
	waitNothingLeft(t, one)
	traffic.stop(t)
	waitReady(t, two)
}

// TestNameConflict: a foreign Service with the required name is reported, and replaced once it is
// deleted.
func TestNameConflict(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "other"},
			Ports:    []corev1.ServicePort{{Port: 80}},
		},
	}
	must(t, kube.Create(t.Context(), foreign))
	nginx := create(t, namespace, "web", saying("hello", 1))
	waitMessage(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonNameConflict, "Service web")
	waitCondition(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonNameConflict)

	// Once the pods serve, no event triggers a pass: only the operator's retries can notice that
	// the foreign Service is gone.
	waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonMinimumReplicasAvailable)

	before := foreign.ResourceVersion
	must(t, get(t, foreign))
	if foreign.ResourceVersion != before {
		t.Errorf("the foreign Service was changed: %+v", foreign)
	}
	must(t, kube.Delete(t.Context(), foreign))
	waitReady(t, nginx)
	waitAnswer(t, nginx, "hello")
}

// TestEveryNameTaken: foreign objects with any of the other derived names are reported and not
// changed. The Deployment is tested separately, because the operator does not apply it while the
// objects that it requires are blocked.
func TestEveryNameTaken(t *testing.T) {
	t.Parallel()
	other := map[string]string{"app": "other"}
	checkTaken(t,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: naming.ServiceAccount("web")}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: naming.ConfigMap("web")}},
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: naming.PodDisruptionBudget("web")},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: other}},
		},
		&networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: other}},
		})
	checkTaken(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: naming.Workload("web")},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: other},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: other},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "other"}}},
			},
		},
	})
}

// checkTaken creates foreign objects with the names that an application requires, checks the
// reports, and deletes them.
func checkTaken(t *testing.T, foreign ...client.Object) {
	t.Helper()
	namespace := newNamespace(t)
	for _, obj := range foreign {
		obj.SetNamespace(namespace)
		must(t, kube.Create(t.Context(), obj))
	}
	nginx := create(t, namespace, "web", everyKind(saying("hello", 2)))
	waitCondition(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonNameConflict)
	for _, obj := range foreign {
		must(t, get(t, obj))
		if obj.GetLabels()[naming.LabelApplication] != "" || len(obj.GetOwnerReferences()) > 0 {
			t.Errorf("%T %s was adopted: %v", obj, obj.GetName(), obj.GetOwnerReferences())
		}
	}
	for _, obj := range foreign {
		must(t, kube.Delete(t.Context(), obj))
	}
	waitReady(t, nginx)
	// An object of a kind that is no longer declared is deleted.
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.NetworkPolicy = nil })
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	eventually(t, "the NetworkPolicy is gone", func() error { return gone(get(t, policy)) })
}

// TestSuspend: nothing is changed for a suspended resource.
func TestSuspend(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("before", 1))
	generation := deploymentOf(t, nginx).Generation
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Suspend = new(true)
		s.Replicas = new(int32(2))
		s.Config = says("after")
	})
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonSuspended,
		"ConfigMap", "Deployment", "PodDisruptionBudget")
	// Now the Service is missing as well. The operator reports that, but does nothing.
	must(t, kube.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: "web"}}))
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonSuspended, "Service")
	if now := deploymentOf(t, nginx).Generation; now != generation {
		t.Errorf("suspended, the Deployment went from generation %d to %d", generation, now)
	}
	if n := len(podsOf(t, nginx)); n != 1 {
		t.Errorf("suspended, there are %d pods", n)
	}

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Suspend = new(false) })
	waitReady(t, nginx)
	waitAnswer(t, nginx, "after")
}
