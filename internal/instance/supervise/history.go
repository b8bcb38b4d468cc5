package supervise

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// remembered is how many revisions are reported on.
const remembered = 4

// A test that failed may succeed later: a name can be resolved again.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 30 * time.Second
)

// outcome is what became of a revision.
type outcome struct {
	instanceapi.Revision
	// inputs are those with which it was tested (see view).
	inputs int
	// use of the certificates and the number of workers, once tested.
	facts facts
	// failures in a row, and when to try again.
	failures int
	retry    time.Time
	// pardoned is when a failed load is forgotten; zero: when nobody asks any more.
	pardoned time.Time
	pardons  int
}

// due is when a revision may be tried: at once if it was not tried with the present
// inputs, and with a delay that grows after failures.
func (o *outcome) due(inputs int) time.Time {
	if o.failures == 0 || o.inputs != inputs {
		return time.Time{}
	}
	return o.retry
}

// tested notes the outcome of a test.
func (o *outcome) tested(problems []instanceapi.Problem, inputs int, now time.Time) {
	o.Problems, o.inputs = problems, inputs
	if len(problems) == 0 {
		o.Test, o.failures = instanceapi.Passed, 0
		return
	}
	o.Test = instanceapi.Failed
	o.backOff(now)
}

// loaded notes the outcome of a load.
func (o *outcome) loaded(problems []instanceapi.Problem, now time.Time) {
	o.Problems = problems
	o.TakenBack = false
	if len(problems) == 0 {
		o.Load, o.Fatal, o.failures = instanceapi.Passed, false, 0
		return
	}
	o.Load = instanceapi.Failed
	o.backOff(now)
}

func (o *outcome) backOff(now time.Time) {
	o.retry = now.Add(backOff(o.failures))
	o.failures++
}

// backOff is the pause after so many failures in a row.
func backOff(failures int) time.Duration {
	if failures >= 3 {
		return lastRetry
	}
	return min(firstRetry<<failures, lastRetry)
}

// A load that failed for a reason that may pass is forgotten after a while, so that the
// operator tries again: it would do so at once, and for ever.
const (
	firstPardon = time.Minute
	lastPardon  = 10 * time.Minute
)

// pardon lets a failed load be forgotten later.
func (o *outcome) pardon(now time.Time) {
	o.pardoned = now.Add(min(firstPardon<<min(o.pardons, 4), lastPardon))
	o.pardons++
}

// forgive forgets the failed loads whose time has come.
func (h *history) forgive(now time.Time) {
	for _, o := range h.outcomes {
		if o.Load == instanceapi.Failed && !o.pardoned.IsZero() && now.After(o.pardoned) {
			o.Load, o.TakenBack, o.pardoned = "", false, time.Time{}
			if o.Test == instanceapi.Passed {
				o.Problems, o.failures = nil, 0
			}
		}
	}
}

// history has the outcomes, the latest first.
type history struct {
	outcomes []*outcome
}

// of returns the outcome of a revision; an empty one if it was not tried.
func (h *history) of(revision string) *outcome {
	for _, o := range h.outcomes {
		if o.Revision.Revision == revision {
			return o
		}
	}
	return &outcome{Revision: instanceapi.Revision{Revision: revision}}
}

// touch returns the outcome of a revision to be changed, and makes it the latest.
func (h *history) touch(revision string) *outcome {
	o := h.of(revision)
	h.outcomes = slices.DeleteFunc(h.outcomes, func(other *outcome) bool { return other == o })
	h.outcomes = slices.Insert(h.outcomes, 0, o)
	return o
}

// forget drops old outcomes, except for those in use. A failed load is forgotten as
// soon as nobody asks about the revision, so that it is tried anew when it comes back;
// not earlier: the operator would try it for ever.
//
// It returns the revisions whose failed loads are forgotten.
func (h *history) forget(requested instanceapi.Requested, inUse ...string) (forgotten []string) {
	inUse = append(inUse, requested.Test, requested.Load)
	var kept []*outcome
	for i, o := range h.outcomes {
		name := o.Revision.Revision
		if o.Load == instanceapi.Failed && !slices.Contains(inUse, name) {
			o.Load, o.TakenBack, o.Fatal = "", false, false
			forgotten = append(forgotten, name)
			if o.Test == instanceapi.Passed {
				o.Problems, o.failures = nil, 0
			}
		}
		if i < remembered || slices.Contains(inUse, name) {
			kept = append(kept, o)
		}
	}
	h.outcomes = kept
	return forgotten
}

func (h *history) report() []instanceapi.Revision {
	var all []instanceapi.Revision
	for _, o := range h.outcomes {
		r := o.Revision
		r.Problems = slices.Clone(r.Problems)
		all = append(all, r)
	}
	return all
}
