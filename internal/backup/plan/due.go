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

// restless is how many times settleSeconds a target may go on changing before it is backed
// up anyway.
const restless = 10

// due is what is to be done now, and when to look again.
type due struct {
	trigger v1alpha1.Trigger
	reason  string
	// at is the time of the schedule.
	at time.Time
	// rollout is the one that waits.
	rollout *v1alpha2.WaitingRollout
	after   time.Duration
}

// beforeRollout is due at once: what waits does not change.
func beforeRollout(w *v1alpha2.WaitingRollout, after time.Duration) due {
	return due{trigger: v1alpha1.TriggerBeforeRollout, reason: "before the rollout of " + w.Revision, rollout: w, after: after}
}

func dueOf(policy *v1alpha1.NginxBackupPolicy, schedule *Schedule, target Target, backups []*v1alpha1.NginxBackup, now time.Time) due {
	changed := changeOf(policy, target, backups, now)
	if schedule == nil {
		return changed
	}
	next := schedule.Next(now).Sub(now)
	last := schedule.Last(now)
	if last.After(scheduledUntil(policy, target, backups, now)) {
		return due{
			trigger: v1alpha1.TriggerSchedule, at: last, after: next,
			reason: "the schedule's time " + last.UTC().Format(time.RFC3339),
		}
	}
	changed.after = Soonest(changed.after, next)
	return changed
}

// Wanted tells whether a policy wants a target to have a backup by now, whatever its state was,
// and since when one that is new; zero: any will do that holds the target as it is. last is the
// last time of the schedule.
func Wanted(policy *v1alpha1.NginxBackupPolicy, nginx *v1alpha2.NginxOperator, last time.Time) (since time.Time, wanted bool) {
	if last.After(begin(policy, nginx)) {
		return last, true
	}
	return time.Time{}, policy.Spec.Triggers.Change != nil || policy.Spec.Triggers.Scale != nil
}

// begin is when there were a policy and a target: times of the schedule up to then are nobody's.
func begin(policy *v1alpha1.NginxBackupPolicy, nginx *v1alpha2.NginxOperator) time.Time {
	if created := nginx.CreationTimestamp.Time; created.After(policy.CreationTimestamp.Time) {
		return created
	}
	return policy.CreationTimestamp.Time
}

// scheduledUntil is up to when no backup of the schedule is missing.
func scheduledUntil(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup, now time.Time) time.Time {
	until := begin(policy, target.Nginx)
	for _, b := range backups {
		// A time to come is one of a clock that was wrong.
		if at, err := time.Parse(time.RFC3339, b.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil && at.After(until) && !at.After(now) {
			until = at
		}
	}
	return until
}

// changeOf tells whether the target is another than the newest backup holds, and has come to
// rest.
func changeOf(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup, now time.Time) due {
	trigger, reason, settings := difference(policy, target, backups)
	if trigger == "" {
		return due{}
	}
	settle := 10 * time.Second
	if settings.SettleSeconds != nil {
		settle = time.Duration(*settings.SettleSeconds) * time.Second
	}
	at := target.Since.Add(settle)
	if most := target.Restless.Add(restless * settle); !target.Restless.IsZero() && (most.Before(at) || Moving(target.Nginx)) {
		at = most
	}
	if wait := at.Sub(now); wait > 0 {
		return due{after: wait}
	}
	return due{trigger: trigger, reason: reason}
}

// Moving tells whether an application is on its way from one state to another: its pods are
// being replaced, or do not serve the configuration that is asked for yet, or that waits. What
// comes of it is worth a backup, more than what is on the way.
func Moving(nginx *v1alpha2.NginxOperator) bool {
	if !Told(nginx) {
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

// Behind tells whether a target is another than its newest backup holds, as far as the policy
// asks.
func Behind(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) bool {
	trigger, _, _ := difference(policy, target, backups)
	return trigger != ""
}

// Waiting tells whether a target waits for a backup: one is under way, or has to be.
func Waiting(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) bool {
	for _, b := range backups {
		if !Written(b) && b.DeletionTimestamp == nil {
			return true
		}
	}
	return Behind(policy, target, backups) || HoldsBack(policy, target, backups)
}

// difference is what the newest backup does not hold. One that the policy would not make so any
// more is none, nor is one from before a rollout: what comes of that is to be backed up, too. And
// neither is one whose data is gone or damaged.
func difference(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) (v1alpha1.Trigger, string, *v1alpha1.ChangeTrigger) {
	triggers := policy.Spec.Triggers
	newest := latest(slices.DeleteFunc(slices.Clone(backups), func(b *v1alpha1.NginxBackup) bool {
		return !wanted(policy, b) || !usable(b) || b.Spec.Trigger == v1alpha1.TriggerBeforeRollout
	}))
	var held snapshot.State
	if newest != nil {
		held = Held(newest)
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
