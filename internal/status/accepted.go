package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

func accepted(v *view) judgement {
	if b := v.in.Blocked; b.Reason != "" {
		return judgement{metav1.ConditionFalse, b.Reason, b.Message}
	}
	return judgement{metav1.ConditionTrue, v1alpha2.ReasonAccepted, "The spec is valid and every reference resolves"}
}
