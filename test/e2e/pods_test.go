//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// nginxUser is the ID of the user nginx in the official images.
const nginxUser = 101

// TestHardening: a running pod is more restricted than the restricted Pod Security Standard, which
// the namespace already enforces.
func TestHardening(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 1))
	pods := podsOf(t, nginx)
	if len(pods) != 1 {
		t.Fatalf("there are %d pods", len(pods))
	}
	pod := pods[0]
	t.Run("no token", func(t *testing.T) { checkNoToken(t, &pod) })
	t.Run("not root", func(t *testing.T) { checkUser(t, &pod) })
	t.Run("read-only root", func(t *testing.T) { checkReadOnlyRoot(t, &pod) })
	t.Run("no privileges", func(t *testing.T) { checkPrivileges(t, &pod) })
}

func checkNoToken(t *testing.T, pod *corev1.Pod) {
	if ptr.Deref(pod.Spec.AutomountServiceAccountToken, true) {
		t.Error("the token of the ServiceAccount is mounted")
	}
	if pod.Spec.ServiceAccountName != naming.ServiceAccount("web") {
		t.Errorf("the ServiceAccount is %s", pod.Spec.ServiceAccountName)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Projected != nil || v.Secret != nil {
			t.Errorf("volume %s could hold a credential", v.Name)
		}
	}
}

func checkUser(t *testing.T, pod *corev1.Pod) {
	security := pod.Spec.SecurityContext
	if !ptr.Deref(security.RunAsNonRoot, false) || ptr.Deref(security.RunAsUser, 0) != nginxUser || ptr.Deref(security.RunAsGroup, 0) != nginxUser {
		t.Errorf("the pod's security context is %+v", security)
	}
	for _, s := range pod.Status.ContainerStatuses {
		// Runtimes report the user since KEP-3619. With others, only the kubelet enforces it.
		if s.User != nil && s.User.Linux != nil && s.User.Linux.UID != nginxUser {
			t.Errorf("container %s runs as user %d", s.Name, s.User.Linux.UID)
		}
	}
}

// checkReadOnlyRoot makes nginx try to write its error log to the root directory, so it needs no
// other program in the image.
func checkReadOnlyRoot(t *testing.T, pod *corev1.Pod) {
	output, err := kubectl(t, "exec", "-n", pod.Namespace, pod.Name, "-c", naming.NginxContainer, "--",
		"nginx", "-t", "-e", "/probe.log")
	if !strings.Contains(output, `open() "/probe.log" failed (30: Read-only file system)`) {
		t.Errorf("writing to the root folder: %v: %s", err, output)
	}
}

func checkPrivileges(t *testing.T, pod *corev1.Pod) {
	want := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if diff := cmp.Diff(want, c.SecurityContext); diff != "" {
			t.Errorf("container %s (-want +got):\n%s", c.Name, diff)
		}
	}
}

// TestImages: every version of nginx runs with the built-in configuration and with a port that only
// root could bind elsewhere.
func TestImages(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	for i, image := range nginxImages {
		name := "web-" + string(rune('a'+i))
		nginx := createReady(t, namespace, name, v1alpha2.NginxOperatorSpec{Image: &image, Ports: ports(80)})
		waitAnswer(t, nginx, "nginx")
		if nginx.Status.Image != image {
			t.Errorf("the status has image %s, the spec of %s", nginx.Status.Image, image)
		}
	}
}

// TestScale: the reported counts follow scaling, to zero and back.
func TestScale(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 1))
	for _, replicas := range []int32{3, 1, 0, 2} {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = &replicas })
		waitReady(t, nginx)
		if s := nginx.Status; s.Replicas != replicas || s.ReadyReplicas != replicas || s.UpdatedReplicas != replicas {
			t.Errorf("Ready at %d replicas, the status has %d, %d ready and %d updated", replicas, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas)
		}
		if n := len(podsOf(t, nginx)); n != int(replicas) {
			t.Errorf("Ready at %d replicas, there are %d pods", replicas, n)
		}
		if replicas > 0 {
			waitAnswer(t, nginx, "hello")
			continue
		}
		waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonScaledToZero)
		eventually(t, "nothing answers", func() error {
			body, err := fetch(t.Context(), nginx)
			return unanswered(body, err)
		})
	}
}
