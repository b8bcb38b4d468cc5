package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/naming"
)

// RolledOut tells whether every pod is of the Deployment's template. A rollout ends when
// all of them have become available; that one of them fails later, or that more are
// asked for, is not a rollout but a matter of Available.
func (s State) RolledOut(replicas int32) bool {
	d := s.Deployment()
	if d == nil || !s.Observed() {
		return false
	}
	status := d.Status
	return status.UpdatedReplicas == replicas && status.Replicas == replicas && (status.AvailableReplicas == replicas || hasCompleted(d))
}

// Observed tells whether what the Deployment controller says is of the Deployment as it is. Its
// generation changes with each of its annotations as well, by whomever: as long as all pods that
// it has told of are of its template, what it said before holds.
func (s State) Observed() bool {
	d := s.Deployment()
	if d == nil {
		return false
	}
	return d.Status.ObservedGeneration >= d.Generation || d.Status.ObservedGeneration > 0 && s.allOf(s.LiveTemplate(), d.Status.Replicas)
}

// allOf tells whether there are so many pods, and all of a template.
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

// hasCompleted reads the reason that the Deployment controller keeps from the end of
// a rollout to the start of the next.
func hasCompleted(d *appsv1.Deployment) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.Reason == "NewReplicaSetAvailable"
		}
	}
	return false
}

// TemplateOf is the hash of the template that a pod was made from.
func TemplateOf(pod *corev1.Pod) string { return pod.Annotations[naming.AnnotationTemplate] }

// LiveTemplate is the hash of the Deployment's template; empty when there is none.
func (s State) LiveTemplate() string {
	d := s.Deployment()
	if d == nil {
		return ""
	}
	return d.Spec.Template.Annotations[naming.AnnotationTemplate]
}
