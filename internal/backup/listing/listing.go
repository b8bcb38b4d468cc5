// Package listing compares what a store holds with the objects that there are. A backup
// outlives its object, and the cluster of it: what is in the store and has no object gets one,
// and what has an object and is not in the store is told.
//
// The store is listed by a job, for a policy, below the folder of the policy's namespace. The
// job is given the backups that have objects (Pack), and reports in its termination message as
// many others as there is room for (Report). The operator makes objects of these and lists
// again, until nothing is left. It is pure.
package listing

import (
	"encoding/json"
	"strings"
)

// Report is what a listing has found. Backups are named by their paths below the folder of the
// namespace: <application>/<backup>-<uid>.
type Report struct {
	// Backups is how many records there are.
	Backups int `json:"backups"`
	// Found are backups that have no object.
	Found []Found `json:"found,omitempty"`
	// Missing are backups that have an object, and are not there.
	Missing []string `json:"missing,omitempty"`
	// Back are those that were missing, and are there.
	Back []string `json:"back,omitempty"`
	// More tells that there was no room for everything: list again.
	More bool `json:"more,omitempty"`
	// Skipped is how many records cannot be adopted, and Why is the first one's reason.
	Skipped int    `json:"skipped,omitempty"`
	Why     string `json:"why,omitempty"`

	used int
}

// Found is a backup in a store. The names are short, since a termination message is.
type Found struct {
	Path string `json:"p"`
	// Policy made it; empty: none did.
	Policy  string `json:"o,omitempty"`
	Trigger string `json:"t,omitempty"`
	// State and Replicas are what the application declared.
	State    string `json:"s,omitempty"`
	Replicas *int32 `json:"r,omitempty"`
	// TakenAt and ScheduledAt are in seconds since the epoch.
	TakenAt     int64 `json:"a"`
	ScheduledAt int64 `json:"d,omitempty"`
	// Recipients is a hash of the keys that its Secrets are encrypted for, see Recipients.
	Recipients string `json:"k,omitempty"`
}

// room is how much a report may name, in bytes. A termination message has 4096.
const room = 3400

// take tells whether there is room for something, and takes it.
func (r *Report) take(what any) bool {
	text, err := json.Marshal(what)
	if size := len(text) + 1; err == nil && r.used+size <= room {
		r.used += size
		return true
	}
	r.More = true
	return false
}

// Full tells that there is no room for another backup, so that it need not be read.
func (r *Report) Full() bool { return r.More }

// AddFound reports a backup that has no object.
func (r *Report) AddFound(f Found) {
	if r.take(f) {
		r.Found = append(r.Found, f)
	}
}

// AddMissing reports a backup that is not there.
func (r *Report) AddMissing(path string) {
	if r.take(path) {
		r.Missing = append(r.Missing, path)
	}
}

// AddBack reports a backup that is there again.
func (r *Report) AddBack(path string) {
	if r.take(path) {
		r.Back = append(r.Back, path)
	}
}

// whyLength bounds the words about what was skipped.
const whyLength = 300

// Skip counts a record that cannot be adopted.
func (r *Report) Skip(path, why string) {
	r.Skipped++
	if r.Why == "" {
		r.Why = plain(path+": "+why, whyLength)
	}
}

// plain has nothing that JSON would have to escape, and is for people: paths are whatever
// somebody has put into the store.
func plain(text string, limit int) string {
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
