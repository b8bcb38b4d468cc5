package observe

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
)

// Asked is what a pod's annotations ask its instance for.
func Asked(pod *corev1.Pod) instanceapi.Requested {
	return instanceapi.Requested{
		Test:  pod.Annotations[naming.AnnotationConfigTest],
		Load:  pod.Annotations[naming.AnnotationConfig],
		Grant: pod.Annotations[naming.AnnotationConfigGrant],
	}
}

// Ready tells whether a pod serves, in the kubelet's word.
func Ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ReadySince is when a pod became ready, or stopped being it.
func ReadySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Running tells whether a pod has an instance that can be expected to answer.
func Running(pod *corev1.Pod) bool {
	nginx := nginxContainer(pod)
	return pod.DeletionTimestamp == nil && pod.Status.PodIP != "" && nginx != nil && nginx.State.Running != nil
}

func nginxContainer(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == naming.NginxContainer {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
