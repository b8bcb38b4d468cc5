package pipeline

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// PodChanged drops updates of pods that no condition depends on. The cache has already removed all fields that the
// operator does not read.
func PodChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*corev1.Pod)
			after, ok2 := e.ObjectNew.(*corev1.Pod)
			return !ok1 || !ok2 ||
				(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
				!apiequality.Semantic.DeepEqual(before.Status, after.Status)
		},
	}
}
