package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/nginx/naming"
)

// RolledOut reports whether every pod is of the Deployment's template. A rollout ends when all of them have become
// available. If one fails later, or if the number of replicas grows, that concerns Available, not the rollout.
func (s State) RolledOut(replicas int32) bool {
	d := s.Deployment()
	if d == nil || !s.DeploymentStatusCurrent() {
		return false
	}
	status := d.Status
	return status.UpdatedReplicas == replicas && status.Replicas == replicas && (status.AvailableReplicas == replicas || rolloutComplete(d))
}

// DeploymentStatusCurrent reports whether the Deployment controller's status describes the present Deployment. The generation
// also changes with each annotation that a client writes. As long as all pods that the status counts are of the
// Deployment's template, an older status still holds.
func (s State) DeploymentStatusCurrent() bool {
	d := s.Deployment()
	if d == nil {
		return false
	}
	return d.Status.ObservedGeneration >= d.Generation || d.Status.ObservedGeneration > 0 && s.allOf(s.LiveTemplate(), d.Status.Replicas)
}

// allOf reports whether there are exactly count pods, all of a template.
func (s State) allOf(template string, count int32) bool {
	found := int32(0)
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if TemplateOf(pod) != template {
			return false
		}
		found++
	}
	return found == count
}

// rolloutComplete reads the reason that the Deployment controller keeps from the end of a rollout to the start of the
// next.
func rolloutComplete(d *appsv1.Deployment) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.Reason == "NewReplicaSetAvailable"
		}
	}
	return false
}

// TemplateOf returns the hash of the template that a pod was created from.
func TemplateOf(pod *corev1.Pod) string { return pod.Annotations[naming.AnnotationTemplate] }

// LiveTemplate returns the hash of the Deployment's template; empty if there is none.
func (s State) LiveTemplate() string {
	d := s.Deployment()
	if d == nil {
		return ""
	}
	return d.Spec.Template.Annotations[naming.AnnotationTemplate]
}
