//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// podUIDs returns the UIDs of the pods of an application.
func podUIDs(t *testing.T, nginx *v1alpha2.NginxOperator) map[types.UID]bool {
	t.Helper()
	uids := map[types.UID]bool{}
	for _, pod := range podsOf(t, nginx) {
		uids[pod.UID] = true
	}
	return uids
}

// TestChangePort: the Service and nginx follow a change of the port.
func TestChangePort(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Ports: ports(80)})
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Ports = ports(8090) })
	waitReady(t, nginx)
	eventually(t, "port 8090 answers", func() error {
		_, err := request(nginx.Namespace, naming.Service(nginx.Name), "8090", "/").DoRaw(t.Context())
		return err
	})
	body, err := request(nginx.Namespace, naming.Service(nginx.Name), "80", "/").DoRaw(t.Context())
	must(t, unanswered(string(body), err))
}

// unanswered turns a response into an error, and vice versa.
func unanswered(body string, err error) error {
	if err == nil {
		return fmt.Errorf("it still answers %q", body)
	}
	return nil
}

// TestChangeImage: nginx can be upgraded from the oldest to the newest version under traffic.
func TestChangeImage(t *testing.T) {
	t.Parallel()
	spec := saying("hello", 2)
	spec.Image = new(oldestImage())
	nginx := createReady(t, newNamespace(t), "web", spec)
	client := startTraffic(t, nginx, "hello")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(newestImage()) })
	waitReady(t, nginx)
	client.stop(t)
	if nginx.Status.Image != newestImage() {
		t.Errorf("the status has image %s", nginx.Status.Image)
	}
	for _, pod := range podsOf(t, nginx) {
		if image := pod.Spec.Containers[0].Image; image != newestImage() {
			t.Errorf("pod %s runs %s", pod.Name, image)
		}
	}
}

// TestForceRedeploy: every pod is replaced, once.
func TestForceRedeploy(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 2))
	force := func(value string) {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = &value })
	}
	pods, sets := podUIDs(t, nginx), len(replicaSetsOf(t, nginx))
	force("2026-11-20")
	waitReady(t, nginx)
	renewed := podUIDs(t, nginx)
	for uid := range renewed {
		if pods[uid] {
			t.Errorf("pod %s was not replaced", uid)
		}
	}
	if n := len(replicaSetsOf(t, nginx)); n != sets+1 {
		t.Errorf("there were %d ReplicaSets, now there are %d", sets, n)
	}

	generation := deploymentOf(t, nginx).Generation
	force("2026-11-20")
	passOver(t, nginx, "again")
	waitReady(t, nginx)
	if now := deploymentOf(t, nginx).Generation; now != generation {
		t.Errorf("the same value changed the Deployment from generation %d to %d", generation, now)
	}
	if diff := cmp.Diff(renewed, podUIDs(t, nginx)); diff != "" {
		t.Errorf("the same value replaced pods:\n%s", diff)
	}
}

// TestV1Alpha1EditLosesNothing: a client of v1alpha1 that reads, changes and writes an object loses
// none of its fields that only v1alpha2 has.
func TestV1Alpha1EditLosesNothing(t *testing.T) {
	t.Parallel()
	shop := createSample(t, newNamespace(t), "v1alpha2_full.yaml")["shop"]
	want := shop.Spec.DeepCopy()
	want.Replicas, want.ForceRedeploy = new(int32(1)), new("by v1alpha1")
	want.Ports[0].Port = 8081

	old := &v1alpha1.NginxOperator{ObjectMeta: shop.ObjectMeta}
	update(t, old, func() {
		old.Spec.Replicas, old.Spec.ForceRedeploy, old.Spec.Port = new(int32(1)), new("by v1alpha1"), new(int32(8081))
	})
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(shop), shop))
	if diff := cmp.Diff(want, &shop.Spec); diff != "" {
		t.Errorf("the spec after an edit by v1alpha1 (-want +got):\n%s", diff)
	}
}
