package status

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/trouble"
)

// findTrouble looks at the pods of the newest template that are not ready. The
// newest trouble wins: an older pod may be in one that is already solved.
func findTrouble(v *view) *trouble.Trouble {
	var found *trouble.Trouble
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		if !observe.Ready(pod) && pod.DeletionTimestamp == nil && isNewest(v, pod) {
			if t := trouble.Of(pod, v.in.State.Instances[pod.Name], v.revision); t != nil && t.Reason != v1alpha2.ReasonConfigRejected {
				found = t
			}
		}
	}
	return found
}

// failedCheck tells of a pod of the newest template that is not ready because of spec.checks; empty: there is none.
func (v *view) failedCheck() string {
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		instance := v.in.State.Instances[pod.Name]
		if instance != nil && !observe.Ready(pod) && isNewest(v, pod) && strings.HasPrefix(instance.NotReady, instanceapi.FailedCheck) {
			return ": a pod is not ready: " + trouble.Clip(instance.NotReady)
		}
	}
	return ""
}

// placed are the pods of the newest template on their nodes.
func (v *view) placed() []trouble.Placed {
	var pods []trouble.Placed
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		if pod.DeletionTimestamp == nil && isNewest(v, pod) {
			pods = append(pods, trouble.Placed{Node: pod.Spec.NodeName, Ready: observe.Ready(pod), Trouble: trouble.Of(pod, v.in.State.Instances[pod.Name], v.revision)})
		}
	}
	return pods
}

// isNewest tells whether a pod was made from the template that the Deployment has now.
func isNewest(v *view, pod *corev1.Pod) bool {
	d := v.in.State.Deployment()
	return d != nil && pod.Annotations[naming.AnnotationTemplate] == d.Spec.Template.Annotations[naming.AnnotationTemplate]
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
