// Package outcome builds the status of backups, restores and policies. It is pure.
package outcome

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/snapshot"
	"example.com/nginx-operator/internal/kube/conditioncheck"
	"example.com/nginx-operator/internal/kube/messages"
)

// Unfinished returns the status of a backup that is not completed, with the reason.
func Unfinished(b *v1alpha1.NginxBackup, reason, message string) v1alpha1.NginxBackupStatus {
	status := *b.Status.DeepCopy()
	status.ObservedGeneration = b.Generation
	if status.Reason == "" {
		status.Reason = messages.Shorten(b.Annotations[v1alpha1.AnnotationReason], reasonLimit)
	}
	set(b, &status, v1alpha1.ConditionCompleted, metav1.ConditionFalse, reason, message)
	set(b, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The archive has not been written yet")
	return status
}

// Recorded returns the same status as Unfinished, with the recorded state of the application.
func Recorded(b *v1alpha1.NginxBackup, s snapshot.Snapshot, reason, message string) v1alpha1.NginxBackupStatus {
	status := Unfinished(b, reason, message)
	record(&status, s)
	return status
}

func record(status *v1alpha1.NginxBackupStatus, s snapshot.Snapshot) {
	taken := metav1.NewTime(s.Info.TakenAt)
	status.StartTime = &taken
	status.Source = &v1alpha1.BackupSource{
		UID:            s.Info.Application.UID,
		Generation:     s.Info.Application.Generation,
		State:          s.State.Change,
		Replicas:       s.State.Replicas,
		ConfigRevision: s.Info.ConfigRevision,
		ServedRevision: s.Info.ServedRevision,
		Image:          s.Info.Image,
		ImageDigest:    s.Info.ImageDigest,
	}
}

// Deleting returns the status of a backup whose data is being deleted.
func Deleting(b *v1alpha1.NginxBackup, reason, message string) v1alpha1.NginxBackupStatus {
	status := *b.Status.DeepCopy()
	if reason == v1alpha1.ReasonInProgress {
		message = "The data is being deleted"
	} else {
		message = fmt.Sprintf("The data is not deleted yet (%s): %s. To leave it where it is, set spec.deletionPolicy to Retain", reason, message)
	}
	set(b, &status, v1alpha1.ConditionCompleted, metav1.ConditionFalse, v1alpha1.ReasonDeleting, message)
	return status
}

// Completed returns the status of a backup that is complete, in its final location, and has been
// read back. If a user deleted the snapshot, what the status recorded before is kept.
func Completed(b *v1alpha1.NginxBackup, recorded *snapshot.Snapshot, result job.Result) v1alpha1.NginxBackupStatus {
	status := Unfinished(b, v1alpha1.ReasonCompleted, "")
	if recorded != nil {
		record(&status, *recorded)
	}
	status.Contents = contents(recorded, result)
	complete(b, &status, result, "The archive was read back without a difference")
	return status
}

func complete(b *v1alpha1.NginxBackup, status *v1alpha1.NginxBackupStatus, result job.Result, verified string) {
	at := metav1.NewTime(result.CompletedAt.Truncate(1e9))
	status.CompletionTime = &at
	status.Location = address(b, result.Archive)
	status.SizeBytes = result.Size
	status.Size = resource.NewQuantity(rounded(result.Size), resource.BinarySI).String()
	status.Digest = "sha256:" + result.SHA256
	message := fmt.Sprintf("%d files, %s", result.Totals.Files, withUnit(status.Size))
	if len(result.Missing) > 0 {
		message += ". These Secrets do not exist: " + strings.Join(result.Missing, ", ")
	}
	if n := result.Totals.Skipped; n > 0 {
		message += fmt.Sprintf(". Skipped (not regular files): %d", n)
		if len(result.Skipped) > 0 {
			message += ": " + strings.Join(result.Skipped, ", ")
		}
	}
	if left := leftOutData(status); left != "" {
		message += ". Not in the backup: " + left
	}
	set(b, status, v1alpha1.ConditionCompleted, metav1.ConditionTrue, v1alpha1.ReasonCompleted, message)
	set(b, status, v1alpha1.ConditionVerified, metav1.ConditionTrue, v1alpha1.ReasonVerified, verified)
}

// withUnit returns a quantity of bytes for people.
func withUnit(quantity string) string {
	if strings.HasSuffix(quantity, "i") {
		return quantity + "B"
	}
	return quantity + " bytes"
}

func contents(recorded *snapshot.Snapshot, result job.Result) *v1alpha1.BackupContents {
	c := &v1alpha1.BackupContents{Files: result.Totals.Files, Bytes: result.Totals.Bytes, Skipped: result.Totals.Skipped}
	if recorded == nil {
		return c
	}
	for _, s := range recorded.Secrets {
		c.Secrets = append(c.Secrets, s.Name)
		if len(recorded.Recipients) > 0 && !slices.Contains(result.Missing, s.Name) {
			c.EncryptedSecrets = append(c.EncryptedSecrets, s.Name)
		}
	}
	for _, v := range recorded.Volumes {
		c.Claims = append(c.Claims, v.Claim)
	}
	c.Secrets, c.EncryptedSecrets, c.Claims = clipList(c.Secrets), clipList(c.EncryptedSecrets), clipList(c.Claims)
	c.ConfigMaps, c.Revisions = clipList(recorded.ConfigMaps), int32(recorded.Revisions)
	c.LeftOut = job.LeftOut(recorded.Info)
	return c
}

// leftOutData names what was left out and may hold data that exists nowhere else, as far as there is room.
func leftOutData(status *v1alpha1.NginxBackupStatus) string {
	var names []string
	if status.Contents != nil {
		for _, l := range status.Contents.LeftOut {
			if l.Kind == snapshot.Claim || l.Kind == snapshot.CSI {
				names = append(names, fmt.Sprintf("%s %s (%s)", l.Kind, l.Name, l.Reason))
			}
		}
	}
	return firstOf(names)
}

// firstOf joins the first names of a list and counts the others.
func firstOf(names []string) string {
	if n := len(names) - namesShown; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesShown], ", "), n)
	}
	return strings.Join(names, ", ")
}

// rounded rounds a size up to at most four digits of its unit.
func rounded(size int64) int64 {
	unit := int64(1)
	for size/unit >= 10_000 {
		unit <<= 10
	}
	return (size + unit - 1) / unit * unit
}

// address returns the URL of a key in the destination of a backup.
func address(b *v1alpha1.NginxBackup, key string) string {
	where, err := location.Parse(b.Spec.Destination.URL)
	if err != nil {
		// The job could parse the URL, so only a programming error leads here. The key is still
		// useful.
		return key
	}
	where.Folder = path.Join(where.Folder, key)
	return where.Base()
}

func set(b *v1alpha1.NginxBackup, status *v1alpha1.NginxBackupStatus, condition string, state metav1.ConditionStatus, reason, message string) {
	setVerdict(b, &status.Conditions, condition, conditioncheck.Verdict{Status: state, Reason: reason, Message: message})
}

// setVerdict sets a condition of an object.
func setVerdict(object metav1.Object, list *[]metav1.Condition, condition string, v conditioncheck.Verdict) {
	meta.SetStatusCondition(list, metav1.Condition{
		Type: condition, Status: v.Status, Reason: v.Reason, Message: messages.Shorten(v.Message, messageLimit), ObservedGeneration: object.GetGeneration(),
	})
}

// Bounds of texts, in bytes, and of lists. Those of the API are not lower.
const (
	messageLimit = 2048
	reasonLimit  = 1000
	listLimit    = 64
	namesShown   = 10
)

func clipList(list []string) []string { return list[:min(len(list), listLimit)] }
