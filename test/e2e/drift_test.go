//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
)

// everyKind adds to a spec what makes the operator own an object of every kind. The network policy
// admits all traffic.
func everyKind(spec v1alpha2.NginxOperatorSpec) v1alpha2.NginxOperatorSpec {
	all := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}}
	spec.Ingress = &v1alpha2.Ingress{Hosts: []v1alpha2.IngressHost{{}}}
	spec.NetworkPolicy = &v1alpha2.NetworkPolicy{IngressFrom: []networkingv1.NetworkPolicyPeer{all}}
	return spec
}

// TestDrift: manual changes to owned objects are reverted.
func TestDrift(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", everyKind(saying("hello", 2)))

	t.Run("scaled by hand", func(t *testing.T) {
		for _, replicas := range []int32{4, 0} {
			d := deploymentOf(t, nginx)
			update(t, d, func() { d.Spec.Replicas = &replicas })
			eventually(t, "spec.replicas is back", func() error {
				if n := ptr.Deref(deploymentOf(t, nginx).Spec.Replicas, 1); n != 2 {
					return fmt.Errorf("it is %d", n)
				}
				return nil
			})
		}
		waitReady(t, nginx)
	})
	for _, kind := range desired.Kinds(application.KindDeployment) {
		t.Run(kind.Name+" "+kind.ObjectName("web")+" deleted", func(t *testing.T) { checkDeleted(t, nginx, kind) })
	}
	waitReady(t, nginx)
	waitAnswer(t, nginx, "hello")
	t.Run("configuration made immutable", func(t *testing.T) { checkImmutable(t, nginx) })
}

// checkImmutable checks that a ConfigMap is recreated when a user has made it immutable. A kubelet
// that has read the immutable ConfigMap ignores its replacement for as long as a pod on its node
// refers to it, and then reads it.
func checkImmutable(t *testing.T, nginx *v1alpha2.NginxOperator) {
	for _, kind := range desired.Kinds(application.KindDeployment) {
		if kind.Name != "ConfigMap" {
			continue
		}
		cm := ownedObject(t, nginx, kind).(*corev1.ConfigMap)
		update(t, cm, func() { cm.Immutable = new(true) })
		eventually(t, cm.Name+" is recreated", func() error {
			recreated, ok := ownedObject(t, nginx, kind).(*corev1.ConfigMap)
			if !ok || recreated.UID == cm.UID || ptr.Deref(recreated.Immutable, false) {
				return fmt.Errorf("there is no new one")
			}
			return nil
		})
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(0)) })
	eventually(t, "no pod is left, not even one that ends", func() error {
		if n := len(allPodsOf(t, nginx)); n > 0 {
			return fmt.Errorf("%d pods exist", n)
		}
		return nil
	})
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas, s.Config = new(int32(2)), says("another") })
	waitLive(t, nginx, revisionSaying("another"))
	waitAnswer(t, nginx, "another")
}

func checkDeleted(t *testing.T, nginx *v1alpha2.NginxOperator, kind owned.Kind) {
	before := ownedObject(t, nginx, kind)
	if before == nil {
		t.Fatal("there is none")
	}
	must(t, kube.Delete(t.Context(), before, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	eventually(t, "it is back", func() error {
		after := ownedObject(t, nginx, kind)
		if after == nil || after.GetUID() == before.GetUID() {
			return fmt.Errorf("there is no new one")
		}
		return nil
	})
}

// TestFieldsOfOtherClients: a restart by kubectl is left alone, and so are the labels and annotations of
// others.
func TestFieldsOfOtherClients(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", everyKind(saying("hello", 2)))
	before := podUIDs(t, nginx)
	output, err := kubectl(t, "-n", nginx.Namespace, "rollout", "restart", "deployment/"+naming.Workload(nginx.Name))
	if err != nil {
		t.Fatalf("restart: %v: %s", err, output)
	}
	restarted := deploymentOf(t, nginx).Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]
	if restarted == "" {
		t.Fatal("kubectl has left no mark")
	}
	for _, kind := range desired.Kinds(application.KindDeployment) {
		obj := ownedObject(t, nginx, kind)
		update(t, obj, func() { addLabel(obj) })
	}
	passOver(t, nginx, "others")
	// A change of the template must not remove the restart annotation either.
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("others") })
	waitReady(t, nginx)

	if now := deploymentOf(t, nginx).Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]; now != restarted {
		t.Errorf("the mark of the restart was %q, now it is %q", restarted, now)
	}
	for uid := range podUIDs(t, nginx) {
		if before[uid] {
			t.Errorf("pod %s was not replaced", uid)
		}
	}
	for _, kind := range desired.Kinds(application.KindDeployment) {
		if obj := ownedObject(t, nginx, kind); obj.GetLabels()["example.com/other"] != "stays" {
			t.Errorf("%s has lost the label of another client: %v", kind.Name, obj.GetLabels())
		}
	}
}

func addLabel(obj client.Object) {
	labels := obj.GetLabels()
	labels["example.com/other"] = "stays"
	obj.SetLabels(labels)
}

// TestDelete: garbage collection removes everything.
func TestDelete(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", everyKind(saying("hello", 2)))
	for _, kind := range desired.Kinds(application.KindDeployment) {
		if ownedObject(t, nginx, kind) == nil {
			t.Errorf("%s does not exist before", kind.Name)
		}
	}
	must(t, kube.Delete(t.Context(), nginx))
	waitNothingLeft(t, nginx)
}

// waitNothingLeft waits until all objects of an application are gone.
func waitNothingLeft(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	eventually(t, nginx.Name+" is gone", func() error { return gone(get(t, nginx)) })
	for _, kind := range desired.Kinds(application.KindDeployment) {
		eventually(t, "its "+kind.Name+" is gone", func() error {
			if obj := ownedObject(t, nginx, kind); obj != nil {
				return fmt.Errorf("%s exists", obj.GetName())
			}
			return nil
		})
	}
	eventually(t, "its pods are gone", func() error {
		if n := len(allPodsOf(t, nginx)) + len(replicaSetsOf(t, nginx)); n > 0 {
			return fmt.Errorf("%d pods and ReplicaSets exist", n)
		}
		return nil
	})
}
