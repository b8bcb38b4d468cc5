// Package conditioncheck computes a condition from a list of named checks. It is pure.
//
// The checks of a condition are in the order of their precedence: the first that has a verdict
// decides. The last check of a list always has one.
package conditioncheck

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Verdict is what a check concludes about its condition.
type Verdict struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// True returns the verdict that a condition is True.
func True(reason, message string) *Verdict {
	return &Verdict{metav1.ConditionTrue, reason, message}
}

// False returns the verdict that a condition is False.
func False(reason, message string) *Verdict {
	return &Verdict{metav1.ConditionFalse, reason, message}
}

// Unknown returns the verdict that a condition is Unknown.
func Unknown(reason, message string) *Verdict {
	return &Verdict{metav1.ConditionUnknown, reason, message}
}

// Check returns a verdict on the view V, or nil to leave it to the checks that follow.
type Check[V any] func(V) *Verdict

// Evaluate returns the verdict of the first check that has one. Without any, the condition is
// Unknown.
func Evaluate[V any](view V, checks []Check[V]) Verdict {
	for _, check := range checks {
		if found := check(view); found != nil {
			return *found
		}
	}
	return Verdict{Status: metav1.ConditionUnknown}
}
