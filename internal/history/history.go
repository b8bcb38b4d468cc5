// Package history is the memory of an application: what it has been, what it is about to
// become, and what went wrong with that. It is pure.
//
// A revision is a pod template and a configuration that belong together, kept as a
// ControllerRevision of the application's namespace. Its data never changes; its
// metadata tells what became of it:
//
//   - candidate: its rollout is under way, at a Stage.
//   - good: at some time every pod was of it, and served.
//   - failed: its rollout failed. It is kept for as long as what was asked for then, the
//     attempt, is asked for, so that it is not tried again and again.
//
// A good revision can fail, too, when it is asked for again; it then stays good and has a
// Failure.
//
// The template is kept as it was applied, so that an operator of another release, which
// would make another one of the same spec, leaves the pods alone.
package history

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State of a revision.
type State string

// The states.
const (
	Candidate State = "candidate"
	Good      State = "good"
	Failed    State = "failed"
)

// Stage of a candidate's rollout.
type Stage string

// The stages, in their order.
const (
	// Proving: the first new pods have to serve for a short while before a pod that
	// serves is taken away.
	Proving Stage = "Proving"
	// Canary: the first new pods are compared with the old ones.
	Canary Stage = "Canary"
	// Rolling: the pods are being replaced.
	Rolling Stage = "Rolling"
)

// Revision is one entry of the history.
type Revision struct {
	// Name and UID of the ControllerRevision; no UID: it does not exist yet.
	Name string
	UID  types.UID
	// Version is its resourceVersion: what was decided from an older one must not be
	// written.
	Version string
	// Number rises with each revision that is asked for.
	Number int64
	State  State
	Stage  Stage
	// Inputs is the hash of what a user declared, Template that of the pod template, and
	// Config the revision of the configuration.
	Inputs, Template, Config string
	// Image as declared, and ImageDigest as the pods told it.
	Image, ImageDigest string
	// Cause tells why there is the revision.
	Cause string
	// StartedAt is when its rollout began last, ServedAt when it was wholly rolled out
	// last; zero: never.
	StartedAt, ServedAt time.Time
	// Failure is how its rollout failed last; zero: it did not.
	Failure Failure
	// Failures count how often an attempt has failed, also while it is retried.
	Failures Failures
	// Raw is the data of the ControllerRevision, see Data.
	Raw []byte
}

// Failure is how a rollout failed.
type Failure struct {
	// Attempt is what was asked for then, see Attempt.
	Attempt string
	// Reason is one of the condition UpToDate, Message in the failing part's words.
	Reason, Message string
	// At is when it failed; zero: an earlier release has noted it.
	At time.Time
}

// Failures are how often an attempt has failed.
type Failures struct {
	Attempt string
	Count   int
}

// Of is the number of failures of an attempt.
func (f Failures) Of(attempt string) int {
	if f.Attempt != attempt {
		return 0
	}
	return f.Count
}

// Exists tells whether there is a ControllerRevision of it.
func (r *Revision) Exists() bool { return r.UID != "" }

// Unsettled tells whether its rollout is under way, or has failed.
func (r *Revision) Unsettled() bool { return r.Stage != "" || r.Failure.Attempt != "" }

// History are the revisions of an application, in the order of their numbers.
type History []Revision

// Named is the revision of a name, nil if there is none.
func (h History) Named(name string) *Revision {
	return h.find(func(r *Revision) bool { return r.Name == name })
}

// Numbered is the good revision with a number, nil if there is none.
func (h History) Numbered(number int64) *Revision {
	return h.find(func(r *Revision) bool { return r.State == Good && r.Number == number })
}

// HasBeenGood tells whether all pods have been of a template.
func (h History) HasBeenGood(template string) bool {
	return h.find(func(r *Revision) bool { return r.Template == template && r.State == Good }) != nil
}

// LastGood is the one that was wholly rolled out last, apart from one of a name; nil if
// there is none.
func (h History) LastGood(except string) *Revision {
	var last *Revision
	for i := range h {
		r := &h[i]
		if r.State == Good && r.Name != except && (last == nil || !r.ServedAt.Before(last.ServedAt)) {
			last = r
		}
	}
	return last
}

// With is the history once a revision was recorded: in the place of the one of its name, or besides.
func (h History) With(recorded Revision) History {
	after := slices.DeleteFunc(slices.Clone(h), func(r Revision) bool { return r.Name == recorded.Name })
	return append(after, recorded).sorted()
}

// sorted puts it in order.
func (h History) sorted() History {
	slices.SortFunc(h, func(a, b Revision) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name)) })
	return h
}

// NextNumber is that of a revision which is asked for now.
func (h History) NextNumber() int64 {
	next := int64(1)
	for _, r := range h {
		next = max(next, r.Number+1)
	}
	return next
}

// find is the newest that matches.
func (h History) find(match func(*Revision) bool) *Revision {
	for i := len(h) - 1; i >= 0; i-- {
		if match(&h[i]) {
			return &h[i]
		}
	}
	return nil
}

// Limit is how many good revisions are kept.
const Limit = 10

// Stale are the revisions that nobody needs any more: failures of attempts that are no
// longer made, candidates that are no longer asked for, and the oldest good ones beyond
// Limit. Those of inUse are kept.
func (h History) Stale(attempt string, inUse func(*Revision) bool) []Revision {
	var stale, good []Revision
	for _, r := range h {
		switch {
		case r.State == Good:
			good = append(good, r)
		case r.State == Failed && r.Failure.Attempt == attempt || inUse(&r):
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
