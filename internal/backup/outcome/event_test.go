package outcome

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// TestEvents: only what changed is reported, and no event says that work continues.
func TestEvents(t *testing.T) {
	completed := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionCompleted, Status: status, Reason: reason, Message: reason}
	}
	verified := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionVerified, Status: status, Reason: reason, Message: reason}
	}
	inProgress, denied := completed("False", v1alpha1.ReasonInProgress), completed("False", v1alpha1.ReasonStoreDenied)
	done, unverified := completed("True", v1alpha1.ReasonCompleted), verified("Unknown", v1alpha1.ReasonNotVerified)
	tests := []struct {
		name            string
		before, after   []metav1.Condition
		backup, restore string
	}{
		{name: "started", after: []metav1.Condition{inProgress, unverified}},
		{name: "denied", before: []metav1.Condition{inProgress}, after: []metav1.Condition{denied, unverified}, backup: "Warning StoreDenied", restore: "Warning StoreDenied"},
		{name: "still denied", before: []metav1.Condition{denied}, after: []metav1.Condition{denied}},
		{name: "tried again", before: []metav1.Condition{denied}, after: []metav1.Condition{inProgress}},
		{name: "completed", before: []metav1.Condition{inProgress, unverified}, after: []metav1.Condition{done, verified("True", v1alpha1.ReasonVerified)},
			backup: "Normal Completed", restore: "Normal Completed, Normal Verified"},
		{name: "data missing", before: []metav1.Condition{done, verified("True", v1alpha1.ReasonVerified)},
			after: []metav1.Condition{done, verified("False", v1alpha1.ReasonDataMissing)}, backup: "Warning DataMissing", restore: "Warning DataMissing"},
		{name: "deleting", before: []metav1.Condition{done}, after: []metav1.Condition{completed("False", v1alpha1.ReasonDeleting)}, restore: "Warning Deleting"},
		{name: "not ready", after: []metav1.Condition{done, verified("False", v1alpha1.ReasonNotReady)}, backup: "Normal Completed", restore: "Normal Completed"},
		{name: "serves another", before: []metav1.Condition{done, unverified}, after: []metav1.Condition{done, verified("False", v1alpha1.ReasonServesAnother)},
			restore: "Warning ServesAnother"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.backup, typesAndReasons(BackupEvents(tt.before, tt.after))); diff != "" {
				t.Errorf("events of a backup (-want +got): %s", diff)
			}
			if diff := cmp.Diff(tt.restore, typesAndReasons(RestoreEvents(tt.before, tt.after))); diff != "" {
				t.Errorf("events of a restore (-want +got): %s", diff)
			}
		})
	}
}

func typesAndReasons(events []Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Type+" "+e.Reason)
	}
	return strings.Join(all, ", ")
}

// TestNoteFits: the API server rejects a note of more than 1024 bytes, but a condition may be longer.
func TestNoteFits(t *testing.T) {
	failed := metav1.Condition{Type: v1alpha1.ConditionCompleted, Status: "False", Reason: v1alpha1.ReasonStoreFailed, Message: strings.Repeat("ä", 1000)}
	for _, e := range append(BackupEvents(nil, []metav1.Condition{failed}), DataNotDeleted(aBackup(), 0, failed.Message)) {
		if len(e.Note) > 1024 || len(e.Note) < 995 {
			t.Errorf("%s: the note has %d bytes", e.Reason, len(e.Note))
		}
	}
}
