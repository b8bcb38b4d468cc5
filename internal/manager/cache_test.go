package manager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTrimPod: the fields that decisions depend on are kept. The node distinguishes a failing node
// from a failing template.
func TestTrimPod(t *testing.T) {
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Annotations: map[string]string{"a": "b"}},
		Spec: corev1.PodSpec{
			NodeName: "node-1", Containers: []corev1.Container{{Name: "nginx", Image: "nginx:1"}},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "192.0.2.1",
			Conditions:            []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "setup"}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: "nginx", RestartCount: 1}},
		},
	}
	full := want.DeepCopy()
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	full.Spec.Volumes = []corev1.Volume{{Name: "config"}}
	full.Spec.Containers[0].Args = []string{"run"}
	full.Status.HostIP = "192.0.2.2"
	got, err := trimPod(full)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
}
