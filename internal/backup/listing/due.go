package listing

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// Due reports whether the destination of a policy has to be listed now, and otherwise after which
// time; 0 means not before something changes. It decides by the status of the policy: if that is
// lost, the destination is listed once more. With a period of 0, a destination is listed again only
// after a change or a failure.
func Due(policy *v1alpha1.NginxBackupPolicy, period time.Duration, now time.Time) (due bool, after time.Duration) {
	c := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionListed)
	last := policy.Status.LastListingTime
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != policy.Generation || last == nil {
		return true, 0
	}
	if period == 0 {
		return false, 0
	}
	// A time in the future was written by a wrong clock.
	left := min(last.Add(period).Sub(now), period)
	return left <= 0, max(0, left)
}
