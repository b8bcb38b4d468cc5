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

// Read is the backup that a record tells of, or why it cannot have an object: anybody could
// have written it.
func Read(namespace, path string, commit archive.Commit) (Found, error) {
	place, err := ParsePath(namespace + "/" + path)
	if err != nil {
		return Found{}, err
	}
	info := commit.Info
	if err := place.Holds(info); err != nil {
		return Found{}, err
	}
	if len(info.Policy) > mostPolicy || info.Policy != "" && !backupForm.MatchString(info.Policy) {
		return Found{}, errors.New("it names a policy that cannot be")
	}
	f := Found{Path: path, Policy: info.Policy, Trigger: info.Trigger, TakenAt: info.TakenAt.Unix(), Recipients: Recipients(info.Recipients)}
	if state := info.Application.State; len(state) <= mostState && stateForm.MatchString(state) && info.Application.Replicas != nil {
		f.State, f.Replicas = state, info.Application.Replicas
	}
	if at := info.ScheduledAt; at != nil {
		f.ScheduledAt = at.Unix()
	}
	if !slices.Contains(triggers, v1alpha1.Trigger(f.Trigger)) {
		// A later version may know more.
		f.Trigger = ""
	}
	return f, nil
}

var triggers = []v1alpha1.Trigger{v1alpha1.TriggerManual, v1alpha1.TriggerChange, v1alpha1.TriggerScale, v1alpha1.TriggerSchedule, v1alpha1.TriggerBeforeRollout}

// Recipients is a hash of keys that Secrets are encrypted for, in any order; empty: there are none.
func Recipients(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(keys)), "\n")))
	return hex.EncodeToString(sum[:4])
}
