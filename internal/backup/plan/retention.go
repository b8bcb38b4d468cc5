package plan

import (
	"cmp"
	"slices"
	"time"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// Expired returns the good backups that neither rule of a retention keeps. backups holds those of
// one policy and target. The newest good one is always kept.
func Expired(retention *v1alpha1.Retention, backups []*v1alpha1.NginxBackup, now time.Time) []*v1alpha1.NginxBackup {
	if retention == nil {
		return nil
	}
	good := goodOf(backups)
	var expired []*v1alpha1.NginxBackup
	for i, b := range good {
		last := retention.KeepLast != nil && i < int(*retention.KeepLast)
		young := retention.KeepDays != nil && now.Sub(b.Status.CompletionTime.Time) < time.Duration(*retention.KeepDays)*24*time.Hour
		if i > 0 && !last && !young {
			expired = append(expired, b)
		}
	}
	return expired
}

// nextExpiry returns the time until the next backup expires by its age, or 0 if none will.
func nextExpiry(retention *v1alpha1.Retention, backups []*v1alpha1.NginxBackup, now time.Time) time.Duration {
	if retention == nil || retention.KeepDays == nil {
		return 0
	}
	var next time.Duration
	for i, b := range goodOf(backups) {
		if i == 0 || retention.KeepLast != nil && i < int(*retention.KeepLast) {
			continue
		}
		left := time.Duration(*retention.KeepDays)*24*time.Hour - now.Sub(b.Status.CompletionTime.Time)
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}

// goodOf returns the good backups, newest first. Backups that are being deleted do not count.
func goodOf(backups []*v1alpha1.NginxBackup) []*v1alpha1.NginxBackup {
	var good []*v1alpha1.NginxBackup
	for _, b := range backups {
		if Good(b) && b.DeletionTimestamp == nil {
			good = append(good, b)
		}
	}
	slices.SortFunc(good, func(a, b *v1alpha1.NginxBackup) int { return ByCompletion(b, a) })
	return good
}

// ByCompletion compares good backups by the time of their completion. Its resolution is one second,
// within which two small backups may complete. Of two such backups of a policy and target, the one
// that was created later counts as completed later.
func ByCompletion(a, b *v1alpha1.NginxBackup) int {
	return cmp.Or(a.Status.CompletionTime.Compare(b.Status.CompletionTime.Time), byMaking(a, b))
}
