package page

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Backup holds the fields of an NginxBackup that the page needs.
type Backup struct {
	Metadata struct {
		Name              string      `json:"name"`
		CreationTimestamp metav1.Time `json:"creationTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Target struct {
			Name string `json:"name"`
		} `json:"target"`
		Trigger string `json:"trigger"`
	} `json:"spec"`
	Status struct {
		Conditions     []metav1.Condition `json:"conditions"`
		Size           string             `json:"size"`
		Location       string             `json:"location"`
		CompletionTime *metav1.Time       `json:"completionTime"`
	} `json:"status"`
}

// GetName returns the name of the object.
func (b *Backup) GetName() string { return b.Metadata.Name }

// BackupRow is a backup of the application.
type BackupRow struct {
	Name string `json:"name"`
	// State is verified, completed, failing or pending.
	State     string    `json:"state"`
	Message   string    `json:"message,omitempty"`
	Trigger   string    `json:"trigger,omitempty"`
	Size      string    `json:"size,omitempty"`
	Location  string    `json:"location,omitempty"`
	Created   time.Time `json:"created"`
	Completed time.Time `json:"completed,omitzero"`
}

// mostBackups is how many backups are shown, the newest first.
const mostBackups = 50

func backups(o *Objects) []BackupRow {
	rows := []BackupRow{}
	for i := range o.Backups {
		b := &o.Backups[i]
		if b.Spec.Target.Name != o.Nginx.Name {
			continue
		}
		row := BackupRow{
			Name: b.Metadata.Name, Trigger: b.Spec.Trigger, Size: b.Status.Size, Location: b.Status.Location, Created: b.Metadata.CreationTimestamp.UTC(),
		}
		row.State, row.Message = stateOf(b.Status.Conditions)
		if b.Status.CompletionTime != nil {
			row.Completed = b.Status.CompletionTime.UTC()
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b BackupRow) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name)) })
	return rows[:min(len(rows), mostBackups)]
}

// stateOf returns the state of a backup, and what its conditions say about it.
func stateOf(conditions []metav1.Condition) (state, message string) {
	state = "pending"
	for _, c := range conditions {
		switch {
		case c.Status == metav1.ConditionFalse && c.Reason != "InProgress":
			return "failing", c.Message
		case c.Status != metav1.ConditionTrue:
			message = c.Message
		case c.Type == "Verified":
			state = "verified"
		case state == "pending":
			state = "completed"
		}
	}
	return state, message
}
