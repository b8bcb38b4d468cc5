// Package history keeps the revisions of an application: what it has run, what it is about to run,
// and what has failed. It is pure.
//
// A revision is a pod template and a configuration that belong together. It is kept in a
// ControllerRevision in the application's namespace. Its data never changes; its metadata holds its
// state:
//
//   - candidate: its rollout is under way, at a Stage.
//   - good: at some time every pod ran it and served.
//   - failed: its rollout failed. It is kept as long as the same attempt is requested, so that the
//     attempt is not repeated.
//
// A good revision that is requested again can fail, too. It then stays good and has a Failure.
//
// The template is kept as it was applied, so that another release of the operator, which would
// build another template from the same spec, leaves the pods alone.
package history

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Kind is the kind of object that holds a revision.
const Kind = "ControllerRevision"

// State is the state of a revision.
type State string

// The states of a revision.
const (
	StateCandidate State = "candidate"
	StateGood      State = "good"
	StateFailed    State = "failed"
)

// Stage is the stage of a candidate's rollout.
type Stage string

// The stages, in order.
const (
	// Proving: the first new pods must serve for a short while before a serving pod is removed.
	Proving Stage = "Proving"
	// Canary: the first new pods are compared with the old ones.
	Canary Stage = "Canary"
	// Rolling: the pods are being replaced.
	Rolling Stage = "Rolling"
)

// Revision is one entry of the history.
type Revision struct {
	// Name and UID identify the ControllerRevision. Without a UID, it does not exist yet.
	Name string
	UID  types.UID
	// Version is its resourceVersion. A decision based on an older one must not be written.
	Version string
	// Number increases with each requested revision.
	Number int64
	State  State
	Stage  Stage
	// Paused reports whether its rollout is paused.
	Paused bool
	// Inputs is the hash of the user's declarations, Template the hash of the pod template, and
	// Config the revision of the configuration.
	Inputs, Template, Config string
	// Image is the declared image, and ImageDigest the digest that the pods report.
	Image, ImageDigest string
	// Cause is the reason for the revision.
	Cause string
	// StartedAt is when its last rollout began, or was resumed after a pause, ServedAt when it was last rolled out completely;
	// zero: never.
	StartedAt, ServedAt time.Time
	// Failure describes how its last rollout failed; zero: it did not.
	Failure Failure
	// Failures counts the failures of an attempt, including those that are being retried.
	Failures Failures
	// Raw is the data of the ControllerRevision, see Data.
	Raw []byte
}

// Failure describes how a rollout failed.
type Failure struct {
	// Attempt identifies the failed request, see the function Attempt.
	Attempt string
	// Reason is a reason of the condition UpToDate. Message is what the failing component reported.
	Reason, Message string
	// At is when it failed; zero: an earlier release recorded the failure.
	At time.Time
}

// Failures is the number of failures of an attempt.
type Failures struct {
	Attempt string
	Count   int
}

// Of returns the number of failures of an attempt.
func (f Failures) Of(attempt string) int {
	if f.Attempt != attempt {
		return 0
	}
	return f.Count
}

// Exists reports whether the revision has a ControllerRevision.
func (r *Revision) Exists() bool { return r.UID != "" }

// RollingOutOrFailed reports whether its rollout is under way or has failed.
func (r *Revision) RollingOutOrFailed() bool { return r.Stage != "" || r.Failure.Attempt != "" }

// History is the revisions of an application, ordered by number.
type History []Revision

// Named returns the revision with a name, or nil if there is none.
func (h History) Named(name string) *Revision {
	return h.find(func(r *Revision) bool { return r.Name == name })
}

// Numbered returns the good revision with a number, or nil if there is none.
func (h History) Numbered(number int64) *Revision {
	return h.find(func(r *Revision) bool { return r.State == StateGood && r.Number == number })
}

// HasBeenGood reports whether all pods have once run a template.
func (h History) HasBeenGood(template string) bool {
	return h.find(func(r *Revision) bool { return r.Template == template && r.State == StateGood }) != nil
}

// LastGood returns the revision that was last rolled out completely, other than the one named
// except; nil if there is none.
func (h History) LastGood(except string) *Revision {
	var last *Revision
	for i := range h {
		r := &h[i]
		if r.State == StateGood && r.Name != except && (last == nil || !r.ServedAt.Before(last.ServedAt)) {
			last = r
		}
	}
	return last
}

// With returns the history with a recorded revision, which replaces the one with its name.
func (h History) With(recorded Revision) History {
	after := slices.DeleteFunc(slices.Clone(h), func(r Revision) bool { return r.Name == recorded.Name })
	return append(after, recorded).sorted()
}

// sorted sorts the history by number.
func (h History) sorted() History {
	slices.SortFunc(h, func(a, b Revision) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name)) })
	return h
}

// NextNumber returns the number of the next requested revision.
func (h History) NextNumber() int64 {
	next := int64(1)
	for _, r := range h {
		next = max(next, r.Number+1)
	}
	return next
}

// find returns the newest revision that matches.
func (h History) find(match func(*Revision) bool) *Revision {
	for i := len(h) - 1; i >= 0; i-- {
		if match(&h[i]) {
			return &h[i]
		}
	}
	return nil
}

// Limit is the number of good revisions to keep.
const Limit = 10

// Stale returns the revisions that are no longer needed: failures of attempts that are no longer
// made, candidates that are no longer requested, and the oldest good ones beyond Limit. It leaves
// out revisions that are in use.
func (h History) Stale(attempt string, inUse func(*Revision) bool) []Revision {
	var stale, good []Revision
	for _, r := range h {
		switch {
		case r.State == StateGood:
			good = append(good, r)
		case r.State == StateFailed && r.Failure.Attempt == attempt || inUse(&r):
		default:
			stale = append(stale, r)
		}
	}
	slices.SortStableFunc(good, func(a, b Revision) int { return cmp.Compare(b.ServedAt.UnixNano(), a.ServedAt.UnixNano()) })
	for _, r := range good[min(Limit, len(good)):] {
		if !inUse(&r) {
			stale = append(stale, r)
		}
	}
	return stale
}
