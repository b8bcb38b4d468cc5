package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/naming"
)

// RolledOut tells whether every pod is of the Deployment's template. A rollout ends when
// all of them have become available; that one of them fails later, or that more are
// asked for, is not a rollout but a matter of Available.
func RolledOut(d *appsv1.Deployment, replicas int32) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == replicas && s.Replicas == replicas &&
		(s.AvailableReplicas == replicas || hasCompleted(d))
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
