package listing

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// Due tells whether the destination of a policy has to be listed, and otherwise after which
// time; 0: not before something changes. The memory is the policy's status: whoever loses it
// lists once more. A period of 0 lists only what has changed.
func Due(policy *v1alpha1.NginxBackupPolicy, period time.Duration, now time.Time) (due bool, after time.Duration) {
	c := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionListed)
	last := policy.Status.LastListingTime
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != policy.Generation || last == nil {
		return true, 0
	}
	if period == 0 {
		return false, 0
	}
	// A time to come is one of a clock that was wrong.
	left := min(last.Add(period).Sub(now), period)
	return left <= 0, max(0, left)
}
