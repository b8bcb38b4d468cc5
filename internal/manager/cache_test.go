package manager

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestTrimPod: the fields that decisions depend on are kept. The node distinguishes a failing node
// from a failing template.
func TestTrimPod(t *testing.T) {
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Annotations: map[string]string{naming.AnnotationSync: "1"}},
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
	full.Annotations["example.com/a"], full.Finalizers = strings.Repeat("x", 1000), []string{"example.com/a"}
	full.OwnerReferences = []metav1.OwnerReference{{Kind: "Secret"}}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	full.Spec.Volumes = []corev1.Volume{{Name: "config"}}
	full.Spec.Containers[0].Args = []string{"run"}
	full.Status.HostIP = "192.0.2.2"
	got, err := trimPod(full)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
}

// TestTrimReference: of all ConfigMaps, little is kept, whatever their labels, annotations and owners are.
func TestTrimReference(t *testing.T) {
	const most = 20 << 10
	controller := metav1.OwnerReference{Kind: cachev1alpha1.Kind, Name: "front", Controller: new(true)}
	for name, tt := range map[string]struct {
		name string
		keys string
		want string
	}{
		"the purges of a cache":            {cachev1alpha1.PurgesName("front"), `[["page"]]`, `[["page"]]`},
		"keys without number":              {cachev1alpha1.PurgesName("front"), strings.Repeat("x", 250_000), purge.TooManyKeys},
		"another ConfigMap with its label": {"other", `[["page"]]`, ""},
	} {
		meta := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: tt.name, Labels: map[string]string{cachev1alpha1.LabelNginxCache: "front"}, OwnerReferences: []metav1.OwnerReference{controller},
			Annotations: map[string]string{purge.AnnotationKeys: tt.keys, "example.com/a": strings.Repeat("x", 250_000)},
		}}
		got, err := trimReference(meta)
		if err != nil || boundedjson.Size(got) > most || meta.Annotations[purge.AnnotationKeys] != tt.want {
			t.Errorf("%s: %v, %d bytes, keys %q", name, err, boundedjson.Size(got), meta.Annotations[purge.AnnotationKeys])
		}
	}
	if keys := purge.ParseKeys(purge.TooManyKeys); len(keys) == 0 {
		t.Error("keys that are not kept count as none")
	}
}
