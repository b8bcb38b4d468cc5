package observe

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
)

// RequestedByAnnotations returns what the annotations of a pod of a release before 0.5 request of its instance.
func RequestedByAnnotations(pod *corev1.Pod) instanceapi.Requested {
	return instanceapi.Requested{
		Test: pod.Annotations[naming.AnnotationConfigTest],
		Load: pod.Annotations[naming.AnnotationConfig],
	}
}

// Ready reports whether the kubelet reports a pod as ready.
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

// ReadySince returns when a pod last became ready or unready.
func ReadySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// StartedAt returns when the nginx container of a pod started; zero if it does not run.
func StartedAt(pod *corev1.Pod) time.Time {
	if nginx := nginxContainer(pod); nginx != nil && nginx.State.Running != nil {
		return nginx.State.Running.StartedAt.Time
	}
	return time.Time{}
}

// Running reports whether a pod has an instance that can answer.
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
