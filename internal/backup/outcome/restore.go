package outcome

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/restoration"
)

// Over tells whether a restore is not tried again: it is completed, or cannot be.
func Over(r *v1alpha1.NginxRestore) bool {
	c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionCompleted)
	return c != nil && (c.Status == metav1.ConditionTrue || Final(c.Reason))
}

// Final tells of reasons that trying again does not mend.
func Final(reason string) bool {
	return slices.Contains([]string{
		v1alpha1.ReasonDestinationInvalid, v1alpha1.ReasonDamaged, v1alpha1.ReasonNotUsable, v1alpha1.ReasonConflict,
	}, reason)
}

// Unproven tells whether it has to be looked at what a restored application serves.
func Unproven(r *v1alpha1.NginxRestore, now time.Time) bool {
	return now.Sub(restoredAt(r)) < proofPatience && meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionCompleted) && !job.DryRun(r) &&
		!meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionVerified)
}

// proofPatience is how long it is looked at what a restored application serves. What becomes of it
// later is not the restore's doing.
const proofPatience = time.Hour

func restoredAt(r *v1alpha1.NginxRestore) time.Time {
	if r.Status.CompletionTime == nil {
		return time.Time{}
	}
	return r.Status.CompletionTime.Time
}

// Unrestored is the status of a restore that is not completed, and why.
func Unrestored(r *v1alpha1.NginxRestore, reason, message string) v1alpha1.NginxRestoreStatus {
	status := *r.Status.DeepCopy()
	status.ObservedGeneration = r.Generation
	setRestore(r, &status, v1alpha1.ConditionCompleted, metav1.ConditionFalse, reason, message)
	setRestore(r, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "It is not restored yet")
	return status
}

// Planned is Unrestored, once the backup was read and it is known what changes.
func Planned(r *v1alpha1.NginxRestore, target string, b restoration.Backup, changes []v1alpha1.RestoreChange, reason, message string) v1alpha1.NginxRestoreStatus {
	status := Unrestored(r, reason, message)
	describe(&status, target, b, changes)
	return status
}

func describe(status *v1alpha1.NginxRestoreStatus, target string, b restoration.Backup, changes []v1alpha1.RestoreChange) {
	info := b.Info
	status.Target = target
	status.Source = &v1alpha1.BackupSource{
		UID:            clip(info.Application.UID, wordLimit),
		Generation:     info.Application.Generation,
		Replicas:       ptr.Deref(b.Nginx.Spec.Replicas, 1),
		ConfigRevision: clip(info.ConfigRevision, wordLimit),
		ServedRevision: clip(info.ServedRevision, wordLimit),
		Image:          clip(info.Image, imageLimit),
		ImageDigest:    clip(info.ImageDigest, imageLimit),
	}
	var secrets []string
	for _, s := range info.Secrets {
		secrets = append(secrets, s.Name)
	}
	status.Secrets = secrets[:min(len(secrets), secretsLimit)]
	// What was found before anything was changed is worth more than what is found afterwards.
	if changes = bounded(changes); len(changes) > len(status.Changes) {
		status.Changes = changes
	}
}

// bounded are as many changes as the API takes.
func bounded(changes []v1alpha1.RestoreChange) []v1alpha1.RestoreChange {
	changes = slices.Clone(changes[:min(len(changes), listLimit)])
	for i := range changes {
		changes[i].Difference = clip(changes[i].Difference, differenceLimit)
	}
	return changes
}

// Restored is the status of a restore that has brought back all that was asked for, or, of a dry
// run, has told what it would.
func Restored(r *v1alpha1.NginxRestore, target string, b restoration.Backup, plan restoration.Plan, now time.Time) v1alpha1.NginxRestoreStatus {
	status := Planned(r, target, b, plan.Changes, v1alpha1.ReasonCompleted, "")
	at := metav1.NewTime(now.Truncate(time.Second))
	status.CompletionTime = &at
	if job.DryRun(r) {
		setRestore(r, &status, v1alpha1.ConditionCompleted, metav1.ConditionTrue, v1alpha1.ReasonDryRun, foreseen(r, status.Changes, plan))
		setRestore(r, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "Nothing was restored: this is a dry run")
		return status
	}
	message := tally(status.Changes)
	if n := len(status.Secrets); n > 0 {
		message += ". Secrets are not brought back, see that they exist: " + strings.Join(status.Secrets[:min(n, secretsShown)], ", ")
	}
	setRestore(r, &status, v1alpha1.ConditionCompleted, metav1.ConditionTrue, v1alpha1.ReasonCompleted, message)
	setRestore(r, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The application has not told yet what it serves")
	return status
}

func foreseen(r *v1alpha1.NginxRestore, changes []v1alpha1.RestoreChange, plan restoration.Plan) string {
	message := "Nothing was changed. What would be: " + tally(changes)
	switch {
	case len(plan.Conflicts) > 0 && r.Spec.OnConflict != v1alpha1.ConflictOverwrite:
		message += ". It would be refused, since these exist and are others: " + strings.Join(plan.Conflicts, ", ")
	case len(plan.Blocked) > 0:
		message += ". It would be refused, since there are directories in the place of files: " + strings.Join(plan.Blocked, ", ")
	}
	return message
}

// Conflict is what is told of objects that a restore would replace, and must not. One that had
// begun before they were there has changed something.
func Conflict(objects []string, begun bool) string {
	found := "Nothing was changed, since these exist and are others: "
	if begun {
		found = "Some of it was brought back, and then these were there, which are others, and were not changed: "
	}
	return found + strings.Join(objects, ", ") + ". To replace them, create another NginxRestore with onConflict: Overwrite"
}

// tally counts the changes.
func tally(changes []v1alpha1.RestoreChange) string {
	counts := map[string]int{}
	for _, c := range changes {
		counts[c.Action]++
	}
	return fmt.Sprintf("%d created, %d replaced, %d as in the backup already", counts["Create"], counts["Replace"], counts["None"])
}

// An application whose ConfigMaps alone were restored is as Ready as before until its operator has
// seen them, for which it has newsDelay. After servedDelay it serves what it will.
const (
	newsDelay   = 5 * time.Second
	servedDelay = time.Minute
)

// Verified tells whether the restored application serves what the backup holds, and when to look
// again although nothing has changed; 0: never.
func Verified(r *v1alpha1.NginxRestore, nginx *v1alpha2.NginxOperator, now time.Time) (status v1alpha1.NginxRestoreStatus, after time.Duration) {
	status = *r.Status.DeepCopy()
	state, reason, message := judge(r, nginx)
	age := now.Sub(restoredAt(r))
	wait := time.Duration(0)
	switch {
	case state == metav1.ConditionTrue && !renewed(r):
		wait = newsDelay - age
	case reason == v1alpha1.ReasonServesAnother:
		wait = servedDelay - age
	}
	if wait > 0 {
		state, reason, message = metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The application has not told yet what it serves"
	}
	setRestore(r, &status, v1alpha1.ConditionVerified, state, reason, message)
	return status, max(0, wait)
}

// renewed tells whether the NginxOperator itself was written, which its operator has to see before
// it is Ready; or nothing was, apart from files.
func renewed(r *v1alpha1.NginxRestore) bool {
	changed := func(kind string) bool {
		return slices.ContainsFunc(r.Status.Changes, func(c v1alpha1.RestoreChange) bool { return c.Kind == kind && c.Action != "None" })
	}
	return changed(v1alpha2.Kind) || !changed("ConfigMap")
}

func judge(r *v1alpha1.NginxRestore, nginx *v1alpha2.NginxOperator) (state metav1.ConditionStatus, reason, message string) {
	source := r.Status.Source
	if source == nil || !slices.ContainsFunc(r.Spec.Items, func(i v1alpha1.RestoreItem) bool { return i != v1alpha1.RestoreContent }) {
		return metav1.ConditionTrue, v1alpha1.ReasonVerified, "The files were compared with those of the backup"
	}
	if nginx == nil {
		return metav1.ConditionFalse, v1alpha1.ReasonNotReady, fmt.Sprintf("There is no NginxOperator %s any more", r.Status.Target)
	}
	ready := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionReady)
	if ready == nil || ready.ObservedGeneration != nginx.Generation {
		return metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The application has not told yet what it serves"
	}
	if ready.Status != metav1.ConditionTrue {
		return metav1.ConditionFalse, v1alpha1.ReasonNotReady, fmt.Sprintf("The application is not Ready: %s: %s", ready.Reason, ready.Message)
	}
	served := ""
	if c := nginx.Status.Config; c != nil {
		served = c.StableRevision
	}
	// In the middle of a rollout, two are known; before the first one, none.
	known := slices.DeleteFunc([]string{source.ConfigRevision, source.ServedRevision}, func(revision string) bool { return revision == "" })
	if len(known) > 0 && !slices.Contains(known, served) && slices.Contains(r.Spec.Items, v1alpha1.RestoreConfiguration) {
		return metav1.ConditionFalse, v1alpha1.ReasonServesAnother, fmt.Sprintf(
			"The application is Ready, and serves configuration %s. The backup holds %s", served, strings.Join(slices.Compact(known), " and "))
	}
	return metav1.ConditionTrue, v1alpha1.ReasonVerified, fmt.Sprintf("The application is Ready, and serves configuration %s", served)
}

func setRestore(r *v1alpha1.NginxRestore, status *v1alpha1.NginxRestoreStatus, condition string, state metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: condition, Status: state, Reason: reason, Message: clip(message, messageLimit), ObservedGeneration: r.Generation,
	})
}

// Bounds of a restore's status. The API's are no less.
const (
	secretsLimit    = 256
	secretsShown    = 10
	differenceLimit = 1000
	wordLimit       = 60
	imageLimit      = 500
)

// Waits tells whether a restore waits for an application to go.
func Waits(r *v1alpha1.NginxRestore) bool {
	c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionCompleted)
	return c != nil && c.Reason == v1alpha1.ReasonTargetDeleting
}
