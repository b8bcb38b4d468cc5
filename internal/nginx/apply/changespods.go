package apply

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/nginx/naming"
)

// ChangesPods reports whether changes give pods something else to run, or let a rollout continue, which depends on
// the history. A change of the number of pods does not.
func ChangesPods(changes []apply.Change) bool { return slices.ContainsFunc(changes, changesPods) }

func changesPods(c apply.Change) bool {
	if c.Action != apply.Update {
		return false
	}
	switch live := c.Live.(type) {
	case *corev1.ConfigMap:
		return true
	case *appsv1.Deployment:
		want, ok := c.Intent.Config.(*appsv1ac.DeploymentApplyConfiguration)
		return ok && (want.Spec.Template.Annotations[naming.AnnotationTemplate] != live.Spec.Template.Annotations[naming.AnnotationTemplate] ||
			ptr.Deref(want.Spec.MinReadySeconds, 0) != live.Spec.MinReadySeconds)
	case *appsv1.StatefulSet:
		want, ok := c.Intent.Config.(*appsv1ac.StatefulSetApplyConfiguration)
		return ok && (want.Spec.Template.Annotations[naming.AnnotationTemplate] != live.Spec.Template.Annotations[naming.AnnotationTemplate] ||
			*want.Spec.UpdateStrategy.RollingUpdate.Partition != livePartition(live))
	}
	return false
}

// livePartition returns the lowest ordinal whose pod gets the template of a StatefulSet.
func livePartition(live *appsv1.StatefulSet) int32 {
	if rolling := live.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return ptr.Deref(rolling.Partition, 0)
	}
	return 0
}
