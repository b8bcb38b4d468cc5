package kubelet

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/nginx/naming"
)

// Parts of an image name that decide the behavior of its pods.
const (
	// Crashes: the containers end at once.
	Crashes = "crash"
	// Spread: the pods are bound to nodes. Pods of other images are not.
	Spread = "spread"
	// Absent: the last node does not have the image.
	Absent = "absent"
)

// Image returns the image of nginx in a pod.
func Image(pod *corev1.PodSpec) string {
	for _, c := range pod.Containers {
		if c.Name == naming.NginxContainer {
			return c.Image
		}
	}
	return ""
}

// Status returns the status that the kubelet would report for a pod that has run for a minute, or
// for one in a crash loop if the image name says so.
func Status(ip, image string) corev1.PodStatus {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute))}
	container := corev1.ContainerStatus{
		Name: naming.NginxContainer, Image: image, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
	if strings.Contains(image, Crashes) {
		ready.Status, ready.Message = corev1.ConditionFalse, "containers with unready status: [nginx]"
		container.Ready, container.RestartCount = false, 1
		container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		container.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "it crashes"}
	}
	return corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions:        []corev1.PodCondition{ready},
		ContainerStatuses: []corev1.ContainerStatus{container},
	}
}

// pullFailed returns the status that a kubelet reports for a pod whose image is not on the node and
// must not be pulled.
func pullFailed(image string) corev1.PodStatus {
	status := Status("", image)
	status.Phase, status.PodIPs = corev1.PodPending, nil
	status.Conditions[0].Status, status.Conditions[0].Message = corev1.ConditionFalse, "containers with unready status: [nginx]"
	status.ContainerStatuses[0].Ready = false
	status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ErrImageNeverPull", Message: "Container image is not present with pull policy of Never",
	}}
	return status
}

// starts reports whether the node of a pod can start its image.
func starts(pod *corev1.Pod) bool {
	image := Image(&pod.Spec)
	if strings.Contains(image, Crashes) {
		return false
	}
	return !strings.Contains(image, Absent) || pod.Spec.NodeName != lastNode
}
