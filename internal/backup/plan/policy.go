package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/location"
)

// ParsePolicy parses the schedule and the selection of a policy, and checks its destination. The
// error is a *PolicyError. selected is not nil if the selection alone is valid.
func ParsePolicy(policy *v1alpha1.NginxBackupPolicy) (schedule *Schedule, selected func(*v1alpha2.NginxOperator) bool, err error) {
	if selected, err = targetPredicate(policy); err != nil {
		return nil, nil, &PolicyError{v1alpha1.ReasonSelectorInvalid, fmt.Errorf("selector: %w", err)}
	}
	if _, err := location.Parse(policy.Spec.Destination.URL); err != nil {
		return nil, selected, &PolicyError{v1alpha1.ReasonDestinationInvalid, err}
	}
	if t := policy.Spec.Triggers.Schedule; t != nil {
		if schedule, err = ParseSchedule(t); err != nil {
			return nil, selected, &PolicyError{v1alpha1.ReasonScheduleInvalid, err}
		}
	}
	return schedule, selected, nil
}

// targetPredicate returns the function that reports whether a policy selects an NginxOperator.
func targetPredicate(policy *v1alpha1.NginxBackupPolicy) (func(*v1alpha2.NginxOperator) bool, error) {
	if t := policy.Spec.Target; t != nil {
		return func(nginx *v1alpha2.NginxOperator) bool { return nginx.Name == t.Name }, nil
	}
	if err := checkSelector(policy.Spec.Selector); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(policy.Spec.Selector)
	if err != nil {
		return nil, err
	}
	return func(nginx *v1alpha2.NginxOperator) bool { return selector.Matches(labels.Set(nginx.Labels)) }, nil
}

// maxRequirements bounds the values that a selector compares labels with: each pass, and each scrape, parses it. The schema allows
// less; an earlier one had no bounds.
const maxRequirements = 2048

func checkSelector(selector *metav1.LabelSelector) error {
	if selector == nil {
		return nil
	}
	n := len(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		n += 1 + len(selector.MatchExpressions[i].Values)
	}
	if n > maxRequirements {
		return fmt.Errorf("it has %d labels, expressions and values: at most %d are allowed", n, maxRequirements)
	}
	return nil
}

// PolicyError describes what is wrong with a policy.
type PolicyError struct {
	// Reason is the reason of the Ready condition.
	Reason string
	err    error
}

func (e *PolicyError) Error() string { return e.err.Error() }

// Suspended reports whether a policy takes no backups for now.
func Suspended(policy *v1alpha1.NginxBackupPolicy) bool {
	return policy.Spec.Suspend != nil && *policy.Spec.Suspend
}
