package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// unsettled bounds, as a multiple of settleSeconds, how long a target may keep changing before it
// is backed up anyway.
const unsettled = 10

// dueBackup is the backup to create now, if any, and the time until the next check.
type dueBackup struct {
	trigger v1alpha1.Trigger
	reason  string
	// at is the time of the schedule for which the backup is due.
	at time.Time
	// rollout is the rollout that waits for the backup.
	rollout *v1alpha2.WaitingRollout
	after   time.Duration
}

// beforeRollout returns a backup that is due at once: a target whose rollout waits does not change.
func beforeRollout(w *v1alpha2.WaitingRollout, after time.Duration) dueBackup {
	return dueBackup{trigger: v1alpha1.TriggerBeforeRollout, reason: "before the rollout of " + w.Revision, rollout: w, after: after}
}

func dueOf(policy *v1alpha1.NginxBackupPolicy, schedule *Schedule, target Target, backups []*v1alpha1.NginxBackup, now time.Time) dueBackup {
	changed := changeOf(policy, target, backups, now)
	if schedule == nil {
		return changed
	}
	next := schedule.Next(now).Sub(now)
	last := schedule.Last(now)
	if last.After(scheduledUntil(policy, target, backups, now)) {
		return dueBackup{
			trigger: v1alpha1.TriggerSchedule, at: last, after: next,
			reason: "the schedule's time " + last.UTC().Format(time.RFC3339),
		}
	}
	changed.after = Soonest(changed.after, next)
	return changed
}

// Wanted reports whether a policy requires a target to have a backup by now, whatever its state
// was. The backup must not be older than since; if since is zero, any backup of the present state
// will do. last is the last time of the schedule.
func Wanted(policy *v1alpha1.NginxBackupPolicy, nginx *v1alpha2.NginxOperator, last time.Time) (since time.Time, wanted bool) {
	if last.After(begin(policy, nginx)) {
		return last, true
	}
	return time.Time{}, policy.Spec.Triggers.Change != nil || policy.Spec.Triggers.Scale != nil
}

// begin returns the time at which both the policy and the target existed. Earlier times of the
// schedule do not count.
func begin(policy *v1alpha1.NginxBackupPolicy, nginx *v1alpha2.NginxOperator) time.Time {
	if created := nginx.CreationTimestamp.Time; created.After(policy.CreationTimestamp.Time) {
		return created
	}
	return policy.CreationTimestamp.Time
}

// scheduledUntil returns the time up to which no backup of the schedule is missing.
func scheduledUntil(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup, now time.Time) time.Time {
	until := begin(policy, target.Nginx)
	for _, b := range backups {
		// A time in the future was written by a wrong clock.
		if at, err := time.Parse(time.RFC3339, b.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil && at.After(until) && !at.After(now) {
			until = at
		}
	}
	return until
}

// changeOf returns the backup that is due because the target differs from its newest backup and has
// settled.
func changeOf(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup, now time.Time) dueBackup {
	trigger, reason, settings := difference(policy, target, backups)
	if trigger == "" {
		return dueBackup{}
	}
	settle := 10 * time.Second
	if settings.SettleSeconds != nil {
		settle = time.Duration(*settings.SettleSeconds) * time.Second
	}
	at := target.Since.Add(settle)
	if most := target.Unsettled.Add(unsettled * settle); !target.Unsettled.IsZero() && (most.Before(at) || Moving(target.Nginx)) {
		at = most
	}
	if wait := at.Sub(now); wait > 0 {
		return dueBackup{after: wait}
	}
	return dueBackup{trigger: trigger, reason: reason}
}

// Moving reports whether an application is between two states: its pods are being replaced, do not
// serve the requested configuration yet, or wait at a gate. The state that it reaches is worth more
// as a backup than one on the way.
func Moving(nginx *v1alpha2.NginxOperator) bool {
	if !StatusIsCurrent(nginx) {
		return true
	}
	c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	if c == nil || c.Status == metav1.ConditionTrue {
		return false
	}
	switch c.Reason {
	case v1alpha2.ReasonRolloutInProgress, v1alpha2.ReasonConfigLoading, v1alpha2.ReasonCanaryRunning, v1alpha2.ReasonWaitingForGate:
		return true
	}
	return false
}

// Behind reports whether a target differs from its newest backup in what the policy's triggers
// cover.
func Behind(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) bool {
	trigger, _, _ := difference(policy, target, backups)
	return trigger != ""
}

// Waiting reports whether a target waits for a backup that is under way or has to be created.
func Waiting(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) bool {
	for _, b := range backups {
		if !Written(b) && b.DeletionTimestamp == nil {
			return true
		}
	}
	return Behind(policy, target, backups) || BlocksRollout(policy, target, backups)
}

// difference returns what distinguishes a target from its newest backup. It ignores backups that
// the policy would not create like that any more and those whose data is lost or damaged. It also
// ignores backups from before a rollout, since the result of the rollout has to be backed up, too.
func difference(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) (v1alpha1.Trigger, string, *v1alpha1.ChangeTrigger) {
	triggers := policy.Spec.Triggers
	newest := latest(slices.DeleteFunc(slices.Clone(backups), func(b *v1alpha1.NginxBackup) bool {
		return !wanted(policy, b) || !usable(b) || b.Spec.Trigger == v1alpha1.TriggerBeforeRollout
	}))
	var held snapshot.Fingerprint
	if newest != nil {
		held = BackedUpState(newest)
	}
	switch {
	case triggers.Change != nil && newest == nil:
		return v1alpha1.TriggerChange, "the first backup", triggers.Change
	case triggers.Change != nil && held.Change != target.State.Change:
		return v1alpha1.TriggerChange, fmt.Sprintf("generation %d, configuration %s", target.Nginx.Generation, configRevision(target.Nginx)), triggers.Change
	case triggers.Scale != nil && newest == nil:
		return v1alpha1.TriggerScale, "the first backup", triggers.Scale
	case triggers.Scale != nil && held.Replicas != target.State.Replicas:
		return v1alpha1.TriggerScale, fmt.Sprintf("replicas %d to %d", held.Replicas, target.State.Replicas), triggers.Scale
	}
	return "", "", nil
}

func configRevision(nginx *v1alpha2.NginxOperator) string {
	if c := nginx.Status.Config; c != nil {
		return c.Revision
	}
	return "unknown"
}
