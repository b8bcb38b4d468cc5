package status

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// verdict is what a check concludes about its condition.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

func isTrue(reason, message string) *verdict {
	return &verdict{metav1.ConditionTrue, reason, message}
}

func isFalse(reason, message string) *verdict {
	return &verdict{metav1.ConditionFalse, reason, message}
}

func isUnknown(reason, message string) *verdict {
	return &verdict{metav1.ConditionUnknown, reason, message}
}

// check returns a verdict, or nil to leave it to the checks that follow.
type check func(*view) *verdict

// evaluate returns the verdict of the first check that has one. The last check of every condition
// has one.
func evaluate(v *view, checks []check) verdict {
	for _, c := range checks {
		if found := c(v); found != nil {
			return *found
		}
	}
	return verdict{status: metav1.ConditionUnknown}
}
