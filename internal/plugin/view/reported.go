package view

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// Reported returns the condition Ready of the present spec; nil if the operator has not reported on it.
func Reported(a *v1alpha2.NginxOperator) *metav1.Condition {
	c := meta.FindStatusCondition(a.Status.Conditions, v1alpha2.ConditionReady)
	if c == nil || c.ObservedGeneration != a.Generation {
		return nil
	}
	return c
}
