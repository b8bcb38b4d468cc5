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
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/restoration"
	"example.com/nginx-operator/internal/kube/conditioncheck"
	"example.com/nginx-operator/internal/kube/messages"
)

// RestoreFinished reports whether a restore is not tried again, because it has completed or cannot complete.
func RestoreFinished(r *v1alpha1.NginxRestore) bool {
	c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionCompleted)
	return c != nil && (c.Status == metav1.ConditionTrue || Final(c.Reason))
}

// Final reports whether a retry cannot fix the reason of a failure.
func Final(reason string) bool {
	return slices.Contains([]string{
		v1alpha1.ReasonDestinationInvalid, v1alpha1.ReasonDamaged, v1alpha1.ReasonNotUsable, v1alpha1.ReasonConflict,
	}, reason)
}

// Unproven reports whether the configuration that a restored application serves still has to be
// checked.
func Unproven(r *v1alpha1.NginxRestore, now time.Time) bool {
	return now.Sub(restoredAt(r)) < readinessTimeout && meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionCompleted) && !job.DryRun(r) &&
		!meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionVerified)
}

// readinessTimeout bounds the time for which a restored application is checked. Later changes are
// not caused by the restore.
const readinessTimeout = time.Hour

func restoredAt(r *v1alpha1.NginxRestore) time.Time {
	if r.Status.CompletionTime == nil {
		return time.Time{}
	}
	return r.Status.CompletionTime.Time
}

// Unrestored returns the status of a restore that is not completed, with the reason.
func Unrestored(r *v1alpha1.NginxRestore, reason, message string) v1alpha1.NginxRestoreStatus {
	status := *r.Status.DeepCopy()
	status.ObservedGeneration = r.Generation
	setRestore(r, &status, v1alpha1.ConditionCompleted, metav1.ConditionFalse, reason, message)
	setRestore(r, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The restore is not complete")
	return status
}

// Planned returns the same status as Unrestored, with the contents of the backup and the planned
// changes.
func Planned(r *v1alpha1.NginxRestore, target string, b restoration.Backup, changes []v1alpha1.RestoreChange, reason, message string) v1alpha1.NginxRestoreStatus {
	status := Unrestored(r, reason, message)
	setRestoreDetails(&status, target, b, changes)
	return status
}

func setRestoreDetails(status *v1alpha1.NginxRestoreStatus, target string, b restoration.Backup, changes []v1alpha1.RestoreChange) {
	info := b.Info
	status.Target = target
	status.Source = &v1alpha1.BackupSource{
		UID:            messages.Shorten(info.Application.UID, wordLimit),
		Generation:     info.Application.Generation,
		Replicas:       ptr.Deref(b.Nginx.Spec.Replicas, 1),
		ConfigRevision: messages.Shorten(info.ConfigRevision, wordLimit),
		ServedRevision: messages.Shorten(info.ServedRevision, wordLimit),
		Image:          messages.Shorten(info.Image, imageLimit),
		ImageDigest:    messages.Shorten(info.ImageDigest, imageLimit),
	}
	var secrets []string
	for _, s := range info.Secrets {
		secrets = append(secrets, s.Name)
	}
	status.Secrets = secrets[:min(len(secrets), secretsLimit)]
	// A list that was made before the first change is more useful than one that was made after it.
	if changes = truncateChanges(changes); len(changes) > len(status.Changes) {
		status.Changes = changes
	}
}

// truncateChanges returns as many changes as the API accepts.
func truncateChanges(changes []v1alpha1.RestoreChange) []v1alpha1.RestoreChange {
	changes = slices.Clone(changes[:min(len(changes), listLimit)])
	for i := range changes {
		changes[i].Difference = messages.Shorten(changes[i].Difference, differenceLimit)
	}
	return changes
}

// Restored returns the status of a restore that has restored everything that was requested or, for
// a dry run, has reported what it would change.
func Restored(r *v1alpha1.NginxRestore, target string, b restoration.Backup, plan restoration.Plan, now time.Time) v1alpha1.NginxRestoreStatus {
	status := Planned(r, target, b, plan.Changes, v1alpha1.ReasonCompleted, "")
	at := metav1.NewTime(now.Truncate(time.Second))
	status.CompletionTime = &at
	if job.DryRun(r) {
		setRestore(r, &status, v1alpha1.ConditionCompleted, metav1.ConditionTrue, v1alpha1.ReasonDryRun, foreseen(r, status.Changes, plan))
		setRestore(r, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "Nothing was restored: this is a dry run")
		return status
	}
	message := tally(status.Changes) + notInBackup(plan)
	if n := len(status.Secrets); n > 0 {
		message += ". Secrets are not restored; check that they exist: " + strings.Join(status.Secrets[:min(n, secretsShown)], ", ")
	}
	setRestore(r, &status, v1alpha1.ConditionCompleted, metav1.ConditionTrue, v1alpha1.ReasonCompleted, message)
	setRestore(r, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The application has not reported its configuration yet")
	if len(plan.Forgotten) > 0 {
		setRestore(r, &status, v1alpha1.ConditionVerified, metav1.ConditionFalse, v1alpha1.ReasonFilesNotInBackup, fmt.Sprintf(
			"An earlier release of the operator took the backup, and left out the files of PersistentVolumeClaim %s: check that they are there, or restore them from another backup", firstOf(plan.Forgotten)))
	}
	return status
}

// notInBackup names the claims whose files the backup does not have.
func notInBackup(plan restoration.Plan) string {
	claims := slices.Concat(plan.Forgotten, plan.NotInBackup)
	if len(claims) == 0 {
		return ""
	}
	return ". The backup does not contain the files of PersistentVolumeClaim " + firstOf(claims)
}

func foreseen(r *v1alpha1.NginxRestore, changes []v1alpha1.RestoreChange, plan restoration.Plan) string {
	message := "Nothing was changed. A restore would change: " + tally(changes) + notInBackup(plan)
	switch {
	case len(plan.Conflicts) > 0 && r.Spec.OnConflict != v1alpha1.ConflictOverwrite:
		message += ". It would be rejected, since these exist with other content: " + strings.Join(plan.Conflicts, ", ")
	case len(plan.Blocked) > 0:
		message += ". It would be rejected, since there are directories in place of files: " + strings.Join(plan.Blocked, ", ")
	}
	return message
}

// Conflict returns the message about objects that a restore would have to replace but must not.
// begun reports whether the restore had already changed something.
func Conflict(objects []string, begun bool) string {
	found := "Nothing was changed, because these exist with other content: "
	if begun {
		found = "The restore is incomplete: these exist with other content and were not changed: "
	}
	return found + strings.Join(objects, ", ") + ". To replace them, create another NginxRestore with onConflict: Overwrite"
}

// tally counts the changes.
func tally(changes []v1alpha1.RestoreChange) string {
	counts := map[string]int{}
	for _, c := range changes {
		counts[c.Action]++
	}
	return fmt.Sprintf("%d created, %d replaced, %d unchanged", counts["Create"], counts["Replace"], counts["None"])
}

func setRestore(r *v1alpha1.NginxRestore, status *v1alpha1.NginxRestoreStatus, condition string, state metav1.ConditionStatus, reason, message string) {
	setVerdict(r, &status.Conditions, condition, conditioncheck.Verdict{Status: state, Reason: reason, Message: message})
}

// Bounds of a restore's status. Those of the API are not lower.
const (
	secretsLimit    = 256
	secretsShown    = 10
	differenceLimit = 1000
	wordLimit       = 60
	imageLimit      = 500
)

// Waits reports whether a restore waits for the deletion of an application.
func Waits(r *v1alpha1.NginxRestore) bool {
	c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionCompleted)
	return c != nil && c.Reason == v1alpha1.ReasonTargetDeleting
}
