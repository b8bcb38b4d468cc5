package apply

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/naming"
)

// Turns tells whether changes give pods something else to run, or let a rollout go on: what the history
// has a say in. Another number of pods is nothing of the kind.
func Turns(changes []Change) bool { return slices.ContainsFunc(changes, turns) }

func turns(c Change) bool {
	if c.Action != Update {
		return false
	}
	switch live := c.Live.(type) {
	case *corev1.ConfigMap:
		return true
	case *appsv1.Deployment:
		want, ok := c.Intent.Config.(*appsv1ac.DeploymentApplyConfiguration)
		return ok && (want.Spec.Template.Annotations[naming.AnnotationTemplate] != live.Spec.Template.Annotations[naming.AnnotationTemplate] ||
			ptr.Deref(want.Spec.MinReadySeconds, 0) != live.Spec.MinReadySeconds)
	}
	return false
}
