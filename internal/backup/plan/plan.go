// Package plan decides which backups should exist: from the policies, the applications and
// the backups that there are. It is pure, and looks at everything again each time, so it
// goes on from wherever anything was lost.
//
// Of each policy and target at most one backup is under way. While one is, whatever changes
// waits, and is in the next one; so a store that is down for a day costs one backup, not
// hundreds. A backup's name follows from what it was decided from: who decides the same
// again, after a crash or beside another leader, creates the same object.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// restless is how many times settleSeconds a target may go on changing before it is backed
// up anyway.
const restless = 10

// Target is an application, and how long it has been as it is.
type Target struct {
	Nginx *v1alpha2.NginxOperator
	UID   types.UID
	State snapshot.State
	// Since is when State was seen first, Restless when the first change was seen that no
	// backup holds; zero: not yet.
	Since, Restless time.Time
}

// Decision is what to do about one policy and target.
type Decision struct {
	// Create is a backup that is due.
	Create *v1alpha1.NginxBackup
	// Expired are the backups that retention lets go, with their data.
	Expired []*v1alpha1.NginxBackup
	// Obsolete are backups that were never completed and that the policy would not make so
	// any more.
	Obsolete []*v1alpha1.NginxBackup
	// Pending tells that a backup is due which has to wait.
	Pending bool
	// AtRest tells that the last backup, or the one to create, holds the target as it is.
	AtRest bool
	// After is when to look again although nothing has changed; 0: never.
	After time.Duration
}

// Decide decides about a policy and a target. backups are those of both, in any order.
func Decide(policy *v1alpha1.NginxBackupPolicy, schedule *Schedule, target Target, backups []*v1alpha1.NginxBackup, now time.Time) Decision {
	d := Decision{
		Expired: Expired(policy.Spec.Retention, backups, now),
		After:   nextExpiry(policy.Spec.Retention, backups, now),
	}
	underway := false
	for _, b := range backups {
		switch {
		case b.DeletionTimestamp != nil || Good(b):
		case !wanted(policy, b) || superseded(target, b):
			d.Obsolete = append(d.Obsolete, b)
		default:
			underway = true
		}
	}
	due := dueOf(policy, schedule, target, backups, now)
	d.After = Soonest(d.After, due.after)
	d.AtRest = !Behind(policy, target, backups)
	switch {
	case due.trigger == "":
	case underway:
		d.Pending = true
	default:
		d.Create, d.AtRest = newBackup(policy, target, due, latest(backups)), true
	}
	return d
}

// due is what is to be done now, and when to look again.
type due struct {
	trigger v1alpha1.Trigger
	reason  string
	// at is the time of the schedule.
	at    time.Time
	after time.Duration
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

// scheduledUntil is up to when no backup of the schedule is missing. Times before there was
// a policy or a target are nobody's.
func scheduledUntil(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup, now time.Time) time.Time {
	until := policy.CreationTimestamp.Time
	if created := target.Nginx.CreationTimestamp.Time; created.After(until) {
		until = created
	}
	for _, b := range backups {
		// A time to come is one of a clock that was wrong.
		if at, err := time.Parse(time.RFC3339, b.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil && at.After(until) && !at.After(now) {
			until = at
		}
	}
	return until
}

// Moving tells whether an application is on its way from one state to another: its pods are
// being replaced, or do not serve the configuration that is asked for yet. What comes of it is
// worth a backup, more than what is on the way.
func Moving(nginx *v1alpha2.NginxOperator) bool {
	if nginx.Status.ObservedGeneration < nginx.Generation {
		return true
	}
	c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
	if c == nil || c.Status == metav1.ConditionTrue {
		return false
	}
	return c.Reason == v1alpha2.ReasonRolloutInProgress || c.Reason == v1alpha2.ReasonConfigLoading || c.Reason == v1alpha2.ReasonCanaryRunning
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

// Behind tells whether a target is another than its newest backup holds, as far as the policy
// asks.
func Behind(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) bool {
	trigger, _, _ := difference(policy, target, backups)
	return trigger != ""
}

// wanted tells whether a backup is where the policy keeps backups now, with what it includes.
// One that the policy made as it is now is, however an API server or a webhook may have
// changed it: otherwise it would be deleted and made again for ever.
func wanted(policy *v1alpha1.NginxBackupPolicy, b *v1alpha1.NginxBackup) bool {
	return b.Annotations[v1alpha1.AnnotationPolicyVersion] == version(policy) || apiequality.Semantic.DeepEqual(b.Spec.Destination, policy.Spec.Destination) &&
		apiequality.Semantic.DeepEqual(b.Spec.IncludeSecrets, policy.Spec.IncludeSecrets)
}

// superseded tells of a backup that fails by what it recorded, while the target is another by
// now: what is mended there cannot help it. Where the store is the trouble, it is kept.
func superseded(target Target, b *v1alpha1.NginxBackup) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCompleted)
	if c == nil || Held(b) == target.State {
		return false
	}
	switch c.Reason {
	case v1alpha1.ReasonSourceFailed, v1alpha1.ReasonPodNotStarted, v1alpha1.ReasonJobNotCreated, v1alpha1.ReasonJobFailed:
		return true
	}
	return false
}

func version(policy *v1alpha1.NginxBackupPolicy) string {
	return fmt.Sprintf("%.8s-%d", policy.UID, policy.Generation)
}

// Waiting tells whether a target waits for a backup: one is under way, or has to be.
func Waiting(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) bool {
	for _, b := range backups {
		if !Good(b) && b.DeletionTimestamp == nil {
			return true
		}
	}
	return Behind(policy, target, backups)
}

// difference is what the newest backup does not hold. One that the policy would not make so any
// more is none.
func difference(policy *v1alpha1.NginxBackupPolicy, target Target, backups []*v1alpha1.NginxBackup) (v1alpha1.Trigger, string, *v1alpha1.ChangeTrigger) {
	triggers := policy.Spec.Triggers
	newest := latest(slices.DeleteFunc(slices.Clone(backups), func(b *v1alpha1.NginxBackup) bool { return !wanted(policy, b) }))
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

// newBackup is the object of a backup that is due. Its name follows from the policy, the
// target, why it is due and the backup before it.
func newBackup(policy *v1alpha1.NginxBackupPolicy, target Target, due due, before *v1alpha1.NginxBackup) *v1alpha1.NginxBackup {
	previous := ""
	if before != nil {
		previous = before.Name + string(before.UID)
	}
	replicas := strconv.Itoa(int(target.State.Replicas))
	annotations := map[string]string{
		v1alpha1.AnnotationPolicyVersion: version(policy),
		v1alpha1.AnnotationSequence:      strconv.FormatInt(sequence(before)+1, 10),
		v1alpha1.AnnotationState:         target.State.Change,
		v1alpha1.AnnotationReplicas:      replicas,
		v1alpha1.AnnotationReason:        due.reason,
	}
	if !due.at.IsZero() {
		annotations[v1alpha1.AnnotationScheduledAt] = due.at.UTC().Format(time.RFC3339)
	}
	var text strings.Builder
	for _, part := range []string{
		string(policy.UID), string(target.Nginx.UID), previous, string(due.trigger), target.State.Change, replicas,
		annotations[v1alpha1.AnnotationScheduledAt], policy.Spec.Destination.URL,
	} {
		fmt.Fprintf(&text, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: policy.Namespace,
			Name:      target.Nginx.Name + "-" + hex.EncodeToString(sum[:5]),
			Labels: map[string]string{
				v1alpha1.LabelPolicy: policy.Name,
				v1alpha1.LabelTarget: target.Nginx.Name,
			},
			Annotations: annotations,
		},
		Spec: v1alpha1.NginxBackupSpec{
			Target:         v1alpha1.TargetReference{Name: target.Nginx.Name},
			Destination:    policy.Spec.Destination,
			IncludeSecrets: policy.Spec.IncludeSecrets,
			DeletionPolicy: v1alpha1.Retain,
			Trigger:        due.trigger,
			PolicyName:     policy.Name,
		},
	}
}

// Good tells whether a backup is whole, in its place, and was read back.
func Good(b *v1alpha1.NginxBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionCompleted) && b.Status.CompletionTime != nil
}

// Held is the state that a backup holds: the one that was recorded, or else the one that it
// was made for.
func Held(b *v1alpha1.NginxBackup) snapshot.State {
	if s := b.Status.Source; s != nil && s.State != "" {
		return snapshot.State{Change: s.State, Replicas: s.Replicas}
	}
	replicas, err := strconv.ParseInt(b.Annotations[v1alpha1.AnnotationReplicas], 10, 32)
	if err != nil {
		// Somebody changed the annotation: it holds no state that any application is in.
		replicas = -1
	}
	return snapshot.State{Change: b.Annotations[v1alpha1.AnnotationState], Replicas: int32(replicas)}
}

// sequence is the number of a backup; 0: somebody changed the annotation, or there is none.
func sequence(b *v1alpha1.NginxBackup) int64 {
	if b == nil {
		return 0
	}
	n, err := strconv.ParseInt(b.Annotations[v1alpha1.AnnotationSequence], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// latest is the backup that was made last; what is being deleted does not count. Times of
// creation are whole seconds, too coarse to tell.
func latest(backups []*v1alpha1.NginxBackup) *v1alpha1.NginxBackup {
	var live []*v1alpha1.NginxBackup
	for _, b := range backups {
		if b.DeletionTimestamp == nil {
			live = append(live, b)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return slices.MaxFunc(live, func(a, b *v1alpha1.NginxBackup) int {
		return cmp.Or(cmp.Compare(sequence(a), sequence(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// Soonest is the shorter of two waits, of which 0 is none.
func Soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
