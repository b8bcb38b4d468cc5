package listing

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
)

// FromCommit returns the backup that a record describes. It returns an error if the record cannot have an
// object, since anyone with access to the store could have written it.
func FromCommit(namespace, path string, commit archive.Commit) (FoundBackup, error) {
	place, err := ParsePath(namespace + "/" + path)
	if err != nil {
		return FoundBackup{}, err
	}
	info := commit.Info
	if err := place.Holds(info); err != nil {
		return FoundBackup{}, err
	}
	if len(info.Policy) > mostPolicy || info.Policy != "" && !backupForm.MatchString(info.Policy) {
		return FoundBackup{}, errors.New("it names a policy with an impossible name")
	}
	f := FoundBackup{Path: path, Policy: info.Policy, Trigger: info.Trigger, TakenAt: info.TakenAt.Unix(),
		Recipients: SetHash(info.Recipients), Excluded: SetHash(info.ExcludeClaims)}
	if state := info.Application.State; len(state) <= mostState && stateForm.MatchString(state) && info.Application.Replicas != nil {
		f.State, f.Replicas = state, info.Application.Replicas
	}
	if at := info.ScheduledAt; at != nil {
		f.ScheduledAt = at.Unix()
	}
	if !slices.Contains(knownBackupTriggers, v1alpha1.Trigger(f.Trigger)) {
		// A later version may know more triggers.
		f.Trigger = ""
	}
	return f, nil
}

var knownBackupTriggers = []v1alpha1.Trigger{v1alpha1.TriggerManual, v1alpha1.TriggerChange, v1alpha1.TriggerScale, v1alpha1.TriggerSchedule, v1alpha1.TriggerBeforeRollout}

// SetHash returns a short hash of texts, whatever their order, or "" if there are none.
func SetHash(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(texts)), "\n")))
	return hex.EncodeToString(sum[:4])
}
