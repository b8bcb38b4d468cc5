package node

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

func nginxPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "real-1", Name: "web-1"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: naming.NginxContainer, Image: "nginx:1"}},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}},
				{Name: "next", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: new(true)}}},
			},
		},
	}
}

func TestVolumes(t *testing.T) {
	pod := nginxPod()
	empty := fake.NewClientBuilder().Build()
	v := &mounts{dir: t.TempDir(), read: empty, last: map[string]map[string]string{}}
	if err := v.update(t.Context(), pod); !apierrors.IsNotFound(err) {
		t.Fatalf("a missing ConfigMap: %v", err)
	}
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "real-1", Name: "config"}, Data: map[string]string{"a.conf": "zero"}, BinaryData: map[string][]byte{"b": {0}},
	}
	kube := fake.NewClientBuilder().WithObjects(config).Build()
	v.read = kube
	for range 2 {
		if err := v.update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	first := volumes.Version(v.folder("config"))
	config.Data["a.conf"] = "one"
	if err := errors.Join(kube.Update(t.Context(), config), v.update(t.Context(), pod)); err != nil {
		t.Fatal(err)
	}
	if volumes.Version(v.folder("config")) == first {
		t.Error("a change of the ConfigMap has not reached the pod")
	}
	for name, want := range map[string]map[string]string{"config": {"a.conf": "one", "b": "\x00"}, "next": {}} {
		got, err := volumes.Read(v.folder(name))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, -want +got:\n%s", name, err, diff)
		}
	}
	pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
	if err := v.update(t.Context(), pod); err == nil {
		t.Error("a volume of another sort is mounted as if it were empty")
	}
}

// TestStatus: a container that has crashed is restarted at once the first time, and backs off the
// second time.
func TestStatus(t *testing.T) {
	pod := nginxPod()
	s := newStatus(pod, "127.0.0.9")
	crashed := exec.Command("sh", "-c", "kill -9 $$")
	if err := crashed.Run(); err == nil {
		t.Fatal("it was not killed")
	}
	for i, wait := range []time.Duration{0, backOff, 2 * backOff} {
		s.begin()
		s.setReady(true)
		if pod.Status = s.PodStatus; !observe.Ready(pod) || !observe.Running(pod) || s.nginx().RestartCount != int32(i) {
			t.Errorf("start %d: %+v", i, s.PodStatus)
		}
		s.end(crashed.ProcessState, "it crashed")
		if pod.Status = s.PodStatus; observe.Ready(pod) || observe.Running(pod) {
			t.Errorf("start %d, after the end: %+v", i, s.PodStatus)
		}
		if got := s.backOff(); got != wait {
			t.Errorf("it is started again after %s, want %s", got, wait)
		}
		if last := s.nginx().LastTerminationState.Terminated; last.ExitCode != 137 || last.Message != "it crashed" {
			t.Errorf("start %d ended with: %+v", i, last)
		}
	}
}

func TestRoot(t *testing.T) {
	images := &Images{roots: []string{"a", "b", "c"}, empty: "empty"}
	for image, want := range map[string]string{"nginx:1": "b", "nginx:2": "c", "nginx:3": "a", "nginx:test": "a", "crash:1": "empty", "x:99999999999999999999": "a"} {
		if got := images.root(image); got != want {
			t.Errorf("%s is %s, want %s", image, got, want)
		}
	}
}
