//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/naming"
)

// TestDrift changes by hand what the operator owns.
func TestDrift(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 2))

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
	for _, kind := range desired.Kinds() {
		t.Run(kind.Name+" "+kind.ObjectName("web")+" deleted", func(t *testing.T) { checkDeleted(t, nginx, kind) })
	}
	waitReady(t, nginx)
	waitAnswer(t, nginx, "hello")
	t.Run("configuration made immutable", func(t *testing.T) { checkImmutable(t, nginx) })
}

// checkImmutable: a ConfigMap is made anew as soon as somebody has made it immutable. A kubelet that has read it meanwhile
// looks at no other one of its name, as long as a pod of its node refers to it, and after that it does.
func checkImmutable(t *testing.T, nginx *v1alpha2.NginxOperator) {
	for _, kind := range desired.Kinds() {
		if kind.Name != "ConfigMap" {
			continue
		}
		cm := owned(t, nginx, kind).(*corev1.ConfigMap)
		update(t, cm, func() { cm.Immutable = new(true) })
		eventually(t, cm.Name+" is made anew", func() error {
			anew, ok := owned(t, nginx, kind).(*corev1.ConfigMap)
			if !ok || anew.UID == cm.UID || ptr.Deref(anew.Immutable, false) {
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

func checkDeleted(t *testing.T, nginx *v1alpha2.NginxOperator, kind desired.Kind) {
	before := owned(t, nginx, kind)
	if before == nil {
		t.Fatal("there is none")
	}
	must(t, kube.Delete(t.Context(), before, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	eventually(t, "it is back", func() error {
		after := owned(t, nginx, kind)
		if after == nil || after.GetUID() == before.GetUID() {
			return fmt.Errorf("there is no new one")
		}
		return nil
	})
}

// TestOthersFields are left alone: a restart by kubectl, and labels and annotations
// of others on the objects.
func TestOthersFields(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 2))
	before := podUIDs(t, nginx)
	output, err := kubectl(t, "-n", nginx.Namespace, "rollout", "restart", "deployment/"+naming.Deployment(nginx.Name))
	if err != nil {
		t.Fatalf("restart: %v: %s", err, output)
	}
	restarted := deploymentOf(t, nginx).Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]
	if restarted == "" {
		t.Fatal("kubectl has left no mark")
	}
	for _, kind := range desired.Kinds() {
		obj := owned(t, nginx, kind)
		update(t, obj, func() { addLabel(obj) })
	}
	passOver(t, nginx, "others")
	// What changes the template must not take the mark away either.
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
	for _, kind := range desired.Kinds() {
		if obj := owned(t, nginx, kind); obj.GetLabels()["example.com/other"] != "stays" {
			t.Errorf("%s has lost the label of somebody else: %v", kind.Name, obj.GetLabels())
		}
	}
}

func addLabel(obj client.Object) {
	labels := obj.GetLabels()
	labels["example.com/other"] = "stays"
	obj.SetLabels(labels)
}

// TestDelete waits until garbage collection has removed everything.
func TestDelete(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 2))
	for _, kind := range desired.Kinds() {
		if owned(t, nginx, kind) == nil {
			t.Errorf("%s does not exist before", kind.Name)
		}
	}
	must(t, kube.Delete(t.Context(), nginx))
	waitNothingLeft(t, nginx)
}

// waitNothingLeft waits until nothing of an application exists any more.
func waitNothingLeft(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	eventually(t, nginx.Name+" is gone", func() error { return gone(get(t, nginx)) })
	for _, kind := range desired.Kinds() {
		eventually(t, "its "+kind.Name+" is gone", func() error {
			if obj := owned(t, nginx, kind); obj != nil {
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
