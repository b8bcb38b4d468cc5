package podtemplate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

var options = Options{DefaultImage: "nginx:default", InstanceImage: "operator:v1"}

func application() *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}}
}

// TestTemplatesWithoutARequestLogAreKept: the templates of releases up to 0.4 have no volume for
// the request log, and their pods are not replaced if their history is lost.
func TestTemplatesWithoutARequestLogAreKept(t *testing.T) {
	nginx := application()
	before, err := (&builder{nginx, options}).podTemplateOf(shape{instanceImage: "operator:v1", before05: true})
	if err != nil {
		t.Fatal(err)
	}
	live := &corev1.PodTemplateSpec{}
	live.Annotations = before.Annotations
	live.Spec.InitContainers = []corev1.Container{{Name: naming.InstallContainer, Image: "operator:v1"}}
	got, err := BuildLike(live, nginx, Options{DefaultImage: "nginx:default", InstanceImage: "operator:v2"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, got); diff != "" {
		t.Errorf("every pod would be restarted (-want +got):\n%s", diff)
	}
}

// TestVolumeOfTheRequestLog: the volume exists if requests are measured, unless the user has a
// volume with its name, which earlier releases allowed.
func TestVolumeOfTheRequestLog(t *testing.T) {
	theirs := &v1alpha2.PodTemplate{Volumes: []v1alpha2.Volume{{Name: naming.VolumeRequestLog, EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	for name, tt := range map[string]struct {
		change func(*v1alpha2.NginxOperatorSpec)
		// memory counts the volumes with that name in memory, and all those of any kind.
		memory, all int
	}{
		"measured":            {func(*v1alpha2.NginxOperatorSpec) {}, 1, 1},
		"not measured":        {func(s *v1alpha2.NginxOperatorSpec) { s.Metrics = &v1alpha2.Metrics{Requests: new(false)} }, 0, 0},
		"the name is in use":  {func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = theirs }, 0, 1},
		"measured explicitly": {func(s *v1alpha2.NginxOperatorSpec) { s.Metrics = &v1alpha2.Metrics{Requests: new(true)} }, 1, 1},
	} {
		nginx := application()
		tt.change(&nginx.Spec)
		template, err := Build(nginx, options)
		if err != nil {
			t.Fatal(err)
		}
		memory, all, mounts := requestLogOf(template.Spec)
		if memory != tt.memory || all != tt.all || mounts != tt.memory {
			t.Errorf("%s: %d volumes, %d of them in memory, %d mounts", name, all, memory, mounts)
		}
	}
}

// requestLogOf counts the volumes of the request log in memory, all volumes with its name, and its
// mounts.
func requestLogOf(pod *corev1ac.PodSpecApplyConfiguration) (memory, all, mounts int) {
	for _, v := range pod.Volumes {
		if *v.Name != naming.VolumeRequestLog {
			continue
		}
		all++
		if v.EmptyDir.Medium != nil && *v.EmptyDir.Medium == corev1.StorageMediumMemory && v.EmptyDir.SizeLimit.Value() == 8<<20 {
			memory++
		}
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		if *m.Name == naming.VolumeRequestLog {
			mounts++
		}
	}
	return memory, all, mounts
}
