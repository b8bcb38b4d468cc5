// Package outcome makes the status of a backup of what became of it. It is pure.
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
	"example.com/nginx-operator/internal/oneline"
)

// Unfinished is the status of a backup that is not completed, and why.
func Unfinished(b *v1alpha1.NginxBackup, reason, message string) v1alpha1.NginxBackupStatus {
	status := *b.Status.DeepCopy()
	status.ObservedGeneration = b.Generation
	if status.Reason == "" {
		status.Reason = clip(b.Annotations[v1alpha1.AnnotationReason], reasonLimit)
	}
	set(b, &status, v1alpha1.ConditionCompleted, metav1.ConditionFalse, reason, message)
	set(b, &status, v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotVerified, "The archive is not written yet")
	return status
}

// Recorded is Unfinished, once it was recorded what is backed up.
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

// Deleting is the status of a backup whose data is being deleted.
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

// Completed is the status of a backup that is whole, in its place, and was read back. Without a
// snapshot, which somebody must have deleted, what was recorded before stays.
func Completed(b *v1alpha1.NginxBackup, recorded *snapshot.Snapshot, result job.Result) v1alpha1.NginxBackupStatus {
	status := Unfinished(b, v1alpha1.ReasonCompleted, "")
	if recorded != nil {
		record(&status, *recorded)
	}
	status.Contents = contents(recorded, result)
	complete(b, &status, result, "The archive was read back and is what was written")
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
		message += ", without the Secrets that do not exist: " + strings.Join(result.Missing, ", ")
	}
	if n := result.Totals.Skipped; n > 0 {
		message += fmt.Sprintf(", without %d that cannot be in a backup: %s", n, strings.Join(result.Skipped, ", "))
	}
	set(b, status, v1alpha1.ConditionCompleted, metav1.ConditionTrue, v1alpha1.ReasonCompleted, message)
	set(b, status, v1alpha1.ConditionVerified, metav1.ConditionTrue, v1alpha1.ReasonVerified, verified)
}

// withUnit is a quantity of bytes as people write it.
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
	return c
}

// rounded is a size of which people read four digits.
func rounded(size int64) int64 {
	unit := int64(1)
	for size/unit >= 10_000 {
		unit <<= 10
	}
	return (size + unit - 1) / unit * unit
}

// address is the URL of the archive.
func address(b *v1alpha1.NginxBackup, key string) string {
	where, err := location.Parse(b.Spec.Destination.URL)
	if err != nil {
		// The job has reached it, so this is an error of the program; the key is worth telling.
		return key
	}
	where.Folder = path.Join(where.Folder, key)
	return where.Base()
}

func set(b *v1alpha1.NginxBackup, status *v1alpha1.NginxBackupStatus, condition string, state metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: condition, Status: state, Reason: reason, Message: clip(message, messageLimit), ObservedGeneration: b.Generation,
	})
}

// Bounds of texts, in bytes, and of lists. The API's are no less.
const (
	messageLimit = 2048
	reasonLimit  = 1000
	listLimit    = 64
)

// clip makes one line of a text, and shortens it. The words may be a store's, or of whoever has
// written a spec: what would move a terminal's cursor, or turn the direction of reading, is replaced.
func clip(text string, limit int) string {
	text = oneline.Of(text)
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

func clipList(list []string) []string { return list[:min(len(list), listLimit)] }
