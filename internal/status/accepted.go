package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

func accepted(v *view) judgement {
	if b := v.in.Blocked; b.Reason != "" {
		return judgement{metav1.ConditionFalse, b.Reason, b.Message}
	}
	message := "The spec is valid and every reference resolves"
	if lost := v.in.NotKept; len(lost) > 0 {
		message += ", but the cluster does not keep " + some(lost) + ": the feature is off, or an admission webhook changes it"
	}
	return judgement{metav1.ConditionTrue, v1alpha2.ReasonAccepted, message}
}

// mostTold is how many things a message names.
const mostTold = 5

// some names some of many things.
func some(all []string) string {
	if rest := len(all) - mostTold; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:mostTold], ", "), rest)
	}
	return strings.Join(all, ", ")
}
