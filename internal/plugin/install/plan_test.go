package install

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/plugin/installation"
)

func TestCheckImage(t *testing.T) {
	for image, want := range map[string]string{
		"registry.example.com/nginx-operator:1": "",
		"r/o@sha256:0123":                       "",
		"":                                      "--image is needed: push",
		"example.com/nginx-operator:1":          "is the placeholder of the release",
		"r/o:1 --privileged":                    "without spaces and quotes",
		"r/o:1\n        securityContext: {runAsUser": "without spaces and quotes",
	} {
		err := CheckImage(image, "1.2.3")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", image, err)
		}
	}
}

func TestForeign(t *testing.T) {
	at := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nginx-operator"}}
	for want, o := range map[string]installation.Operator{
		"with Helm: upgrade it with helm upgrade mine": {Deployment: at, Method: installation.Helm, HelmRelease: "mine"},
		"with its Subscription in namespace shop":      {Deployment: at, Method: installation.OLM},
		"for the namespaces a, b, c, d, e and 1 more":  {Deployment: at, Method: installation.Manifests, Namespaces: []string{"a", "b", "c", "d", "e", "f"}},
		"another operator is installed as shop":        {Deployment: at, Method: installation.Manifests},
	} {
		p := present{operators: []installation.Operator{o}}
		if err := p.refusal("1.2.3", nil, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestProgress(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, AvailableReplicas: 2}
	waiting := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	waiting.Status.ContainerStatuses = []corev1.ContainerStatus{
		{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
		{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}},
	}
	pending := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	pending.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node"}}
	stuck := d.DeepCopy()
	stuck.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse}}
	ready := d.DeepCopy()
	ready.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	old := ready.DeepCopy()
	old.Status.ObservedGeneration = 1
	for name, tt := range map[string]struct {
		deployment    *appsv1.Deployment
		pods          []corev1.Pod
		want          string
		ready, failed bool
	}{
		"under way":           {d, nil, "1 of 2 pods are up to date, 2 are available", false, false},
		"no image":            {d, []corev1.Pod{waiting}, "1 of 2 pods are up to date, 2 are available: pod new: ErrImagePull: not found", false, false},
		"no node":             {d, []corev1.Pod{pending}, "1 of 2 pods are up to date, 2 are available: pod new: Unschedulable: no node", false, false},
		"no progress":         {stuck, nil, "1 of 2 pods are up to date, 2 are available", false, true},
		"ready":               {ready, []corev1.Pod{waiting}, "2 pods are ready", true, false},
		"the last generation": {old, nil, "2 of 2 pods are up to date, 2 are available", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			message, ready, failed := progressOf(tt.deployment, tt.pods)
			if message != tt.want || ready != tt.ready || failed != tt.failed {
				t.Errorf("got %q, ready %t, failed %t", message, ready, failed)
			}
		})
	}
}
