package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// ready is True when all other conditions but Exposed are: that one is about what other controllers do, while the pods
// serve behind the Service. Otherwise it has the reason and message of the first condition that is
// False, or else of the first that is Unknown: a known fault says more than its unknown consequences.
//
// At zero replicas no nginx can test the configuration, so an unknown ConfigValid does not count. A certificate that
// nginx cannot load blocks the configuration, so it comes first as the cause.
func ready(v *view, verdicts map[string]verdict) verdict {
	if certificates := verdicts[v1alpha2.ConditionCertificatesValid]; certificates.Status == metav1.ConditionFalse &&
		verdicts[v1alpha2.ConditionAccepted].Status == metav1.ConditionTrue && v.badCertificate(v.refusal()) != "" {
		return *falseVerdict(certificates.Reason, certificates.Message)
	}
	for _, bad := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		for _, c := range conditions {
			j := verdicts[c.name]
			if j.Status != bad || (c.name == v1alpha2.ConditionConfigValid && bad == metav1.ConditionUnknown && v.replicas == 0) {
				continue
			}
			return *falseVerdict(j.Reason, j.Message)
		}
	}
	return *trueVerdict(v1alpha2.ReasonReady, "The application is as declared and serves"+v.noAddress())
}
