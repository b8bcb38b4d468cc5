package supervise

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// maxReportedRevisions is the number of revisions that are reported.
const maxReportedRevisions = 4

// A failed test is repeated after a delay between these bounds, because it may pass later: for
// example, a host name resolves again.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 30 * time.Second
)

// outcome is the result of the tests and loads of a revision.
type outcome struct {
	instanceapi.Revision
	// inputs is the value of view.inputs at the last test.
	inputs int
	// facts are the findings of the last test.
	facts facts
	// failures counts the failures in a row, and retry is when the next attempt is due.
	failures int
	retry    time.Time
	// retryAllowedAt is when a failed load is forgotten; zero: once the revision is no longer requested.
	retryAllowedAt time.Time
	// allowedRetries counts the times that a failed load was forgotten.
	allowedRetries int
}

// due returns when a revision may be tried: at once if it was not tried with the current inputs,
// and after a growing delay if it failed.
func (o *outcome) due(inputs int) time.Time {
	if o.failures == 0 || o.inputs != inputs {
		return time.Time{}
	}
	return o.retry
}

// examined records what a test has found.
func (o *outcome) examined(found facts, problems []instanceapi.Problem, inputs int, now time.Time) {
	o.facts, o.Unread, o.Usage = found, found.unread, nil
	if found.dryRun == thisPod && len(problems) == 0 {
		o.Usage = new(found.measured)
	}
	o.tested(problems, inputs, now)
}

// tested records the outcome of a test.
func (o *outcome) tested(problems []instanceapi.Problem, inputs int, now time.Time) {
	o.Problems, o.inputs = problems, inputs
	if len(problems) == 0 {
		o.Test, o.failures = instanceapi.Passed, 0
		return
	}
	o.Test = instanceapi.Failed
	o.backOff(now)
}

// loaded records the outcome of a load.
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

// backOff returns the delay after a number of failures in a row.
func backOff(failures int) time.Duration {
	if failures >= 3 {
		return lastRetry
	}
	return min(firstRetry<<failures, lastRetry)
}

// A load that failed for a reason that may pass is forgotten after a delay between these bounds,
// and the operator tries it again. Without the delay, it would try again at once and forever.
const (
	firstAllowedRetry = time.Minute
	lastAllowedRetry  = 10 * time.Minute
)

// allowRetry schedules when a failed load is forgotten.
func (o *outcome) allowRetry(now time.Time) {
	o.retryAllowedAt = now.Add(min(firstAllowedRetry<<min(o.allowedRetries, 4), lastAllowedRetry))
	o.allowedRetries++
}

// allowDueRetries forgets the failed loads that are due.
func (h *history) allowDueRetries(now time.Time) {
	for _, o := range h.outcomes {
		if o.Load == instanceapi.Failed && !o.retryAllowedAt.IsZero() && now.After(o.retryAllowedAt) {
			o.Load, o.TakenBack, o.retryAllowedAt = "", false, time.Time{}
			if o.Test == instanceapi.Passed {
				o.Problems, o.failures = nil, 0
			}
		}
	}
}

// history holds the outcomes, the latest first.
type history struct {
	outcomes []*outcome
}

// of returns the outcome of a revision, or an empty one if it was never tried.
func (h *history) of(revision string) *outcome {
	for _, o := range h.outcomes {
		if o.Revision.Revision == revision {
			return o
		}
	}
	return &outcome{Revision: instanceapi.Revision{Revision: revision}}
}

// touch returns the outcome of a revision for a change, and makes it the latest.
func (h *history) touch(revision string) *outcome {
	o := h.of(revision)
	h.outcomes = slices.DeleteFunc(h.outcomes, func(other *outcome) bool { return other == o })
	h.outcomes = slices.Insert(h.outcomes, 0, o)
	return o
}

// forget drops old outcomes that are not in use, and returns the revisions whose failed loads it
// forgets.
//
// A failed load is forgotten once the revision is no longer requested, so that it is tried again
// when it is requested again. It is not forgotten earlier, because the operator would try it forever.
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
		if i < maxReportedRevisions || slices.Contains(inUse, name) {
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
