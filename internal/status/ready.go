package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// ready is True when all other conditions are. Otherwise it speaks for the first
// that is False, or else for the first that is Unknown: what is wrong tells more
// than what is not known because of it.
//
// Scaled to zero there is no nginx that could test the configuration, so an unknown
// ConfigValid does not count then.
func ready(v *view, judgements map[string]judgement) judgement {
	for _, bad := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		for _, c := range conditionTypes {
			j := judgements[c.name]
			if j.status != bad || (c.name == v1alpha2.ConditionConfigValid && bad == metav1.ConditionUnknown && v.replicas == 0) {
				continue
			}
			return judgement{metav1.ConditionFalse, j.reason, j.message}
		}
	}
	return judgement{metav1.ConditionTrue, v1alpha2.ReasonReady, "The application is as declared and serves"}
}
