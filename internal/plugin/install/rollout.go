package install

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/plugin/installation"
)

// progressOf returns how far the rollout of the operator is, and whether it has failed.
func progressOf(d *appsv1.Deployment, pods []corev1.Pod) (message string, ready, failed bool) {
	o := installation.Of(*d)
	if o.Ready() {
		return fmt.Sprintf("%d pods are ready", d.Status.AvailableReplicas), true, false
	}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	message = fmt.Sprintf("%d of %d pods are up to date, %d are available", d.Status.UpdatedReplicas, wanted, d.Status.AvailableReplicas)
	if why := diagnosis(pods); why != "" {
		message += ": " + why
	}
	for _, c := range d.Status.Conditions {
		failed = failed || c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && d.Status.ObservedGeneration >= d.Generation
	}
	return message, false, failed
}

// harmless are the reasons for which every container waits for a moment.
var harmless = []string{"", "ContainerCreating", "PodInitializing"}

// diagnosis returns why the first pod that has a problem does not run; empty: none has one.
func diagnosis(pods []corev1.Pod) string {
	for i := range pods {
		pod := &pods[i]
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return fmt.Sprintf("pod %s: %s: %s", pod.Name, c.Reason, c.Message)
			}
		}
		for _, c := range pod.Status.ContainerStatuses {
			if w := c.State.Waiting; w != nil && !slices.Contains(harmless, w.Reason) {
				return fmt.Sprintf("pod %s: %s: %s", pod.Name, w.Reason, w.Message)
			}
		}
	}
	return ""
}
