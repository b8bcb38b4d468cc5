package screen

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
)

// Backups shows backups, the newest first.
func (p Printer) Backups(all []backupv1alpha1.NginxBackup, namespaces bool) error {
	if len(all) == 0 {
		return p.printf("There are no backups: kubectl nginx backup NAME makes one.")
	}
	header := []string{"NAME", "APPLICATION", "STATE", "VERIFIED", "AGE", "SIZE", "LOCATION"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	t := p.table(header...)
	for i := range all {
		b := &all[i]
		state, tone := backupState(b.Status.Conditions)
		row := []string{b.Name, b.Spec.Target.Name, state, conditionStatus(b.Status.Conditions, backupv1alpha1.ConditionVerified), p.age(b.CreationTimestamp.Time), b.Status.Size, b.Status.Location}
		if namespaces {
			row = append([]string{b.Namespace}, row...)
		}
		t.row(row...).mark(slices.Index(header, "STATE"), tone)
	}
	return t.print()
}

// backupState returns the reason of Completed.
func backupState(conditions []metav1.Condition) (string, tone) {
	c := meta.FindStatusCondition(conditions, backupv1alpha1.ConditionCompleted)
	switch {
	case c == nil:
		return "Pending", warning
	case c.Status == metav1.ConditionTrue:
		return c.Reason, good
	case c.Reason == backupv1alpha1.ReasonInProgress:
		return c.Reason, warning
	}
	return c.Reason, bad
}

func conditionStatus(conditions []metav1.Condition, name string) string {
	if c := meta.FindStatusCondition(conditions, name); c != nil {
		return string(c.Status)
	}
	return ""
}

// Changes shows what a restore has changed, or would change.
func (p Printer) Changes(all []backupv1alpha1.RestoreChange) error {
	if len(all) == 0 {
		return nil
	}
	t := p.table("KIND", "NAME", "ACTION", "DIFFERENCE")
	for _, c := range all {
		t.row(c.Kind, c.Name, c.Action, c.Difference)
	}
	return t.print()
}
