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
// A certificate that nginx cannot load keeps the configuration from being loaded, so it is the
// cause then.
func ready(v *view, judgements map[string]judgement) judgement {
	if certificates := judgements[v1alpha2.ConditionCertificatesValid]; certificates.status == metav1.ConditionFalse &&
		judgements[v1alpha2.ConditionAccepted].status == metav1.ConditionTrue && v.badCertificate(v.refusal()) != "" {
		return judgement{metav1.ConditionFalse, certificates.reason, certificates.message}
	}
	for _, bad := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		for _, c := range conditionTypes {
			j := judgements[c.name]
			if j.status != bad || (c.name == v1alpha2.ConditionConfigValid && bad == metav1.ConditionUnknown && v.replicas == 0) {
				continue
			}
			return judgement{metav1.ConditionFalse, j.reason, j.message}
		}
	}
	return judgement{metav1.ConditionTrue, v1alpha2.ReasonReady, "The application is as declared and serves" + v.noAddress()}
}
