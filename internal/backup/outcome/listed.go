package outcome

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/listing"
)

// Listed sets the condition Listed of a policy: every backup in its destination has an object.
// began is when the listing began.
func Listed(p *v1alpha1.NginxBackupPolicy, status *v1alpha1.NginxBackupPolicyStatus, report *listing.Report, began time.Time) {
	at := metav1.NewTime(began)
	status.LastListingTime = &at
	message := fmt.Sprintf("%d %s in the destination", report.Backups, plural(report.Backups, "backup of this namespace is", "backups of this namespace are"))
	if report.Skipped > 0 {
		message += fmt.Sprintf("; %d of them %s ignored: %s", report.Skipped, plural(report.Skipped, "is", "are"), report.Why)
	}
	setPolicy(p, status, v1alpha1.ConditionListed, metav1.ConditionTrue, v1alpha1.ReasonListed, message)
}

// plural returns the words for one thing, or for any other number of them.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// ListingInProgress sets the condition Listed while a listing is in progress and no earlier one has
// succeeded.
func ListingInProgress(p *v1alpha1.NginxBackupPolicy, status *v1alpha1.NginxBackupPolicyStatus) {
	setPolicy(p, status, v1alpha1.ConditionListed, metav1.ConditionUnknown, v1alpha1.ReasonListing, "The destination is being listed")
}

// NotListed sets the condition Listed if a listing failed.
func NotListed(p *v1alpha1.NginxBackupPolicy, status *v1alpha1.NginxBackupPolicyStatus, reason, message string) {
	setPolicy(p, status, v1alpha1.ConditionListed, metav1.ConditionFalse, reason, message)
}
