package outcome

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/kube/messages"
)

// Event reports one change. Reasons are few and fixed, so that a dashboard can count them.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason in CamelCase.
	Reason string
	// Action is what the operator was doing.
	Action string
	// Note is for people.
	Note string
}

// EventDataLeft is the reason of the event that the data of a deleted backup stays in the store.
const EventDataLeft = "DataLeft"

const (
	actionBackup  = "Backup"
	actionRestore = "Restore"
	actionDelete  = "Delete"
)

// noteLimit bounds the note of an event, in bytes. The API server rejects longer ones than 1024.
const noteLimit = 1000

// BackupEvents returns the events of a backup that completes, fails for another reason than before,
// or loses its data.
func BackupEvents(before, after []metav1.Condition) []Event {
	var events []Event
	switch c := changed(before, after, v1alpha1.ConditionCompleted); {
	case c == nil || c.Reason == v1alpha1.ReasonInProgress || c.Reason == v1alpha1.ReasonDeleting:
	case c.Status == metav1.ConditionTrue:
		events = append(events, backupCompleted(c))
	default:
		events = append(events, backupFailed(c))
	}
	if c := changed(before, after, v1alpha1.ConditionVerified); c != nil && c.Reason == v1alpha1.ReasonDataMissing {
		events = append(events, dataMissing(c))
	}
	return events
}

// RestoreEvents returns the events of a restore that completes or is verified, or for another reason
// than before is not.
func RestoreEvents(before, after []metav1.Condition) []Event {
	var events []Event
	for _, condition := range []string{v1alpha1.ConditionCompleted, v1alpha1.ConditionVerified} {
		switch c := changed(before, after, condition); {
		case c == nil || slices.Contains(reasonsOfProgress, c.Reason):
		case c.Status == metav1.ConditionTrue:
			events = append(events, restoreSucceeded(c))
		default:
			events = append(events, restoreFailed(c))
		}
	}
	return events
}

// reasonsOfProgress are the reasons for which a restore continues without the user.
var reasonsOfProgress = []string{
	v1alpha1.ReasonInProgress, v1alpha1.ReasonBackupNotCompleted, v1alpha1.ReasonNotVerified, v1alpha1.ReasonNotReady,
}

// changed returns a condition if its status or reason has changed, and nil otherwise.
func changed(before, after []metav1.Condition, condition string) *metav1.Condition {
	was, is := meta.FindStatusCondition(before, condition), meta.FindStatusCondition(after, condition)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}

func backupCompleted(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: c.Reason, Action: actionBackup, Note: messages.Shorten(c.Message, noteLimit)}
}

func backupFailed(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: c.Reason, Action: actionBackup, Note: messages.Shorten(c.Message, noteLimit)}
}

func dataMissing(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: c.Reason, Action: actionBackup, Note: messages.Shorten(c.Message, noteLimit)}
}

// restoreSucceeded reports that a restore has completed, or that the application serves what it restored.
func restoreSucceeded(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: c.Reason, Action: actionRestore, Note: messages.Shorten(c.Message, noteLimit)}
}

// restoreFailed reports that a restore needs the user, or that the application does not serve what it
// restored.
func restoreFailed(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: c.Reason, Action: actionRestore, Note: messages.Shorten(c.Message, noteLimit)}
}

// DataNotDeleted reports that the data of a deleted backup stays in the store, since it could not be
// deleted in time.
func DataNotDeleted(b *v1alpha1.NginxBackup, timeout time.Duration, message string) Event {
	return dataLeft(fmt.Sprintf("The data in %s could not be deleted within %s and stays: %s", address(b, job.Key(b)), timeout, message))
}

// NamespaceTerminating reports that the data of a deleted backup stays in the store, since no job can
// run in its namespace.
func NamespaceTerminating(b *v1alpha1.NginxBackup) Event {
	return dataLeft(fmt.Sprintf("The data in %s stays: the namespace is being deleted", address(b, job.Key(b))))
}

func dataLeft(note string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: EventDataLeft, Action: actionDelete, Note: messages.Shorten(note, noteLimit)}
}
