package apply

import (
	"slices"

	"example.com/nginx-operator/internal/kube/owned"
)

// Outcome is what an apply did.
type Outcome struct {
	// Applied are the objects as the API server returned them.
	Applied map[owned.Key]owned.Object
	// Refused is the first refusal that the user has to fix.
	Refused Refusal
	// Failed are the objects that could not be written, for whatever reason.
	Failed []owned.Key
	// FirstFailure is the error of the first of Failed; nil if the outcome says otherwise why it could not be written.
	FirstFailure error
	// AwaitingDeletion describes the first object that has to be gone before it can be created again, and what holds
	// it; empty if there is none.
	AwaitingDeletion string
	// Pending are the kinds that a suspended resource keeps from being written.
	Pending []string
	// DroppedFields are fields that the API server or an admission webhook changed when they were written: a kind and
	// a path.
	DroppedFields []string
	// Relabelled reports whether objects got their label back. They arrive by the watch; the state of this pass was
	// incomplete.
	Relabelled bool
	// Terminating reports whether the namespace is being deleted: nothing can be created in it, and nothing has to
	// be.
	Terminating bool
	// Retry reports whether something blocks a write whose end no watch reports.
	Retry bool
}

// Interrupted reports whether there is nothing to report: the owner is being removed with its namespace, or its
// state was incomplete.
func (o *Outcome) Interrupted() bool {
	return o.Terminating || o.Relabelled || o.Applied == nil
}

// Suspend notes the changes without making them.
func Suspend(changes []Change) Outcome {
	outcome := Outcome{Applied: map[owned.Key]owned.Object{}}
	for _, change := range changes {
		switch change.Action {
		case Create, Update, Heal, Delete, Recreate, Relabel:
			outcome.Pending = append(outcome.Pending, change.Intent.Kind.Name)
		case Leave, Wait, Conflict:
		}
	}
	return outcome
}

// AnyFailed reports whether an object of one of the kinds could not be written.
func (o *Outcome) AnyFailed(kinds ...string) bool {
	return slices.ContainsFunc(o.Failed, func(key owned.Key) bool { return slices.Contains(kinds, key.Kind) })
}

func (o *Outcome) fail(change Change) {
	o.Failed = append(o.Failed, change.Intent.Key())
}

// applied notes an object as the API server returned it.
func (o *Outcome) applied(change Change, written owned.Object) {
	o.Applied[change.Intent.Key()] = written
}

// Refuse notes the first refusal.
func (o *Outcome) Refuse(b Refusal) {
	if o.Refused.Reason == "" {
		o.Refused = b
	}
}
