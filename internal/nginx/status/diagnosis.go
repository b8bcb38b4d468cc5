package status

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
)

// findDiagnosis diagnoses the pods of the newest template that are not ready. The newest pod wins: the fault of an
// older one may be fixed already.
func findDiagnosis(v *view) *poddiagnosis.Diagnosis {
	var found *poddiagnosis.Diagnosis
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		if !observe.Ready(pod) && pod.DeletionTimestamp == nil && isNewest(v, pod) {
			if d := poddiagnosis.Of(pod, v.in.State.Instances[pod.Name], v.revision); d != nil && d.Reason != v1alpha2.ReasonConfigRejected {
				found = d
			}
		}
	}
	return found
}

// failedCheck names a pod of the newest template that spec.checks or spec.readiness keeps from being ready; empty if there
// is none.
func (v *view) failedCheck() string {
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		instance := v.in.State.Instances[pod.Name]
		if instance != nil && !observe.Ready(pod) && isNewest(v, pod) && instanceapi.DeclaredByUser(instance.NotReady) {
			return ": a pod is not ready: " + poddiagnosis.Clip(instance.NotReady)
		}
	}
	return ""
}

// placed returns the pods of the newest template on their nodes.
func (v *view) placed() []poddiagnosis.PodOnNode {
	var pods []poddiagnosis.PodOnNode
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		if pod.DeletionTimestamp == nil && isNewest(v, pod) {
			pods = append(pods, poddiagnosis.PodOnNode{Node: pod.Spec.NodeName, Ready: observe.Ready(pod), Diagnosis: poddiagnosis.Of(pod, v.in.State.Instances[pod.Name], v.revision)})
		}
	}
	return pods
}

// isNewest reports whether a pod is of the workload's present template.
func isNewest(v *view, pod *corev1.Pod) bool {
	return v.workload() != nil && observe.TemplateOf(pod) == v.in.State.LiveTemplate()
}

func restarts(pod *corev1.Pod) int32 {
	var n int32
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			n += s.RestartCount
		}
	}
	return n
}
