// Package listing compares the contents of a store with the existing objects. A backup outlives its
// object, and the cluster with it. A backup in the store that has no object gets one, and a backup
// that has an object but is not in the store is reported.
//
// A job lists the store for a policy, below the folder of the policy's namespace. The job gets the
// backups that have objects (Pack), and reports in its termination message as many others as there is
// room for (Report). The operator creates objects for these and lists again, until nothing is left.
// The package is pure.
package listing

import (
	"encoding/json"
	"strings"
)

// Report is the result of a listing. It names backups by their paths below the folder of the
// namespace: <application>/<backup>-<uid>.
type Report struct {
	// Backups is the number of records in the store.
	Backups int `json:"backups"`
	// Found holds backups that have no object.
	Found []FoundBackup `json:"found,omitempty"`
	// Missing holds backups that have an object but are not in the store.
	Missing []string `json:"missing,omitempty"`
	// Back holds backups that were missing and are in the store again.
	Back []string `json:"back,omitempty"`
	// More reports that there was no room for everything, so the store has to be listed again.
	More bool `json:"more,omitempty"`
	// Skipped is the number of records that cannot be adopted. Why is the reason of the first one.
	Skipped int    `json:"skipped,omitempty"`
	Why     string `json:"why,omitempty"`

	used int
}

// FoundBackup is a backup in a store. Its JSON names are short, since a termination message is.
type FoundBackup struct {
	Path string `json:"p"`
	// Policy is the policy that created it, or empty if none did.
	Policy  string `json:"o,omitempty"`
	Trigger string `json:"t,omitempty"`
	// State and Replicas describe the declared state of the application.
	State    string `json:"s,omitempty"`
	Replicas *int32 `json:"r,omitempty"`
	// TakenAt and ScheduledAt are in seconds since the Unix epoch.
	TakenAt     int64 `json:"a"`
	ScheduledAt int64 `json:"d,omitempty"`
	// Recipients is a hash of the keys that its Secrets are encrypted for, and Excluded one of the claims
	// that it was told to leave out, see SetHash.
	Recipients string `json:"k,omitempty"`
	Excluded   string `json:"x,omitempty"`
}

// room bounds what a report may name, in bytes. A termination message is limited to 4096 bytes.
const room = 3400

// take uses up room for an entry and reports whether there was enough.
func (r *Report) take(what any) bool {
	text, err := json.Marshal(what)
	if size := len(text) + 1; err == nil && r.used+size <= room {
		r.used += size
		return true
	}
	r.More = true
	return false
}

// Full reports whether there is no room for another backup, so that it need not be read.
func (r *Report) Full() bool { return r.More }

// AddFound adds a backup that has no object.
func (r *Report) AddFound(f FoundBackup) {
	if r.take(f) {
		r.Found = append(r.Found, f)
	}
}

// AddMissing adds a backup that is not in the store.
func (r *Report) AddMissing(path string) {
	if r.take(path) {
		r.Missing = append(r.Missing, path)
	}
}

// AddBack adds a backup that is in the store again.
func (r *Report) AddBack(path string) {
	if r.take(path) {
		r.Back = append(r.Back, path)
	}
}

// whyLength bounds Report.Why, in bytes.
const whyLength = 300

// Skip counts a record that cannot be adopted.
func (r *Report) Skip(path, why string) {
	r.Skipped++
	if r.Why == "" {
		r.Why = sanitize(path+": "+why, whyLength)
	}
}

// sanitize returns text for people without anything that JSON would have to escape. Paths in a store
// may contain any bytes.
func sanitize(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r < ' ' || r > '~' || strings.ContainsRune(`\<>&`, r):
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), limit)]
}
