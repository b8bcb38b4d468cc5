package status

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// canaryProgress returns how far canaries are. Every part of it changes only a few times in the life of a canary, so
// that the status is not written in every pass: figures are lower bounds that only grow.
func (v *view) canaryProgress() string {
	text := "The first pods with what is new are compared with the others (rollout.canary): "
	if verdict := v.in.Verdict; verdict != nil {
		return text + canaryFigures(verdict) + "; " + v.canaryTime(verdict)
	}
	return text + "it has just begun"
}

// canaryFigures returns the figures of both sides.
func canaryFigures(verdict *canary.Verdict) string {
	if verdict.Outcome == canary.NotMeasured {
		return verdict.Message
	}
	return fmt.Sprintf("%s to the canary, %s; %s to the other pods, %s",
		requestsSoFar(verdict.Canary.Requests), errorsSoFar(verdict.Canary.Errors),
		requestsSoFar(verdict.Others.Requests), errorsSoFar(verdict.Others.Errors))
}

func requestsSoFar(n int64) string {
	if n < canary.LeastRequests {
		return fmt.Sprintf("fewer than %d requests", canary.LeastRequests)
	}
	if n < 100 {
		return fmt.Sprintf("at least %d requests", canary.LeastRequests)
	}
	return fmt.Sprintf("at least %d requests", decade(n))
}

func errorsSoFar(n int64) string {
	switch {
	case n == 0:
		return "none answered with 5xx"
	case n < 10:
		return "fewer than 10 of them answered with 5xx"
	default:
		return fmt.Sprintf("at least %d of them answered with 5xx", decade(n))
	}
}

// decade returns the greatest power of ten that is not greater than n.
func decade(n int64) int64 {
	d := int64(1)
	for d <= n/10 {
		d *= 10
	}
	return d
}

// canaryTime returns the time that is left.
func (v *view) canaryTime(verdict *canary.Verdict) string {
	want := ptr.Deref(v.rolloutSpec().Canary, v1alpha2.Canary{})
	seconds := ptr.Deref(want.DurationSeconds, revision.DefaultCanaryDuration)
	total := time.Duration(seconds) * time.Second
	switch left := total - v.canaryServed(); {
	case left > total/2:
		return fmt.Sprintf("more than half of %d seconds is left", seconds)
	case left > 0:
		return fmt.Sprintf("less than half of %d seconds is left", seconds)
	case verdict.Outcome == canary.Undecided && ptr.Deref(want.OnNoEvidence, v1alpha2.OnNoEvidenceWait) == v1alpha2.OnNoEvidenceFail:
		return fmt.Sprintf("%d seconds are over without enough evidence (%s): the rollout fails (rollout.canary.onNoEvidence)", seconds, verdict.Message)
	case verdict.Outcome == canary.Undecided:
		return fmt.Sprintf("%d seconds are over without enough evidence (%s): the canary waits for up to %d seconds more, then the rollout fails (rollout.canary.onNoEvidence, rollout.progressDeadlineSeconds)",
			seconds, verdict.Message, ptr.Deref(v.rolloutSpec().ProgressDeadlineSeconds, revision.DefaultProgressDeadline))
	default:
		return fmt.Sprintf("%d seconds are over", seconds)
	}
}

// canaryServed returns how long the canaries have served.
func (v *view) canaryServed() time.Duration {
	if step := v.in.Selection.Step; len(step.AnalyzeAgain) > 0 {
		return step.Served
	}
	return v.rollout.Served
}

// canaryEvents report that a canary has begun, passed or failed.
func canaryEvents(v *view, t transition) []Event {
	was := t.before != nil && t.before.Reason == v1alpha2.ReasonCanaryRunning
	is := t.after.Reason == v1alpha2.ReasonCanaryRunning
	switch {
	case is && !was:
		return []Event{canaryStarted(t.after)}
	case is || !was:
		return nil
	case v.failedWith(v1alpha2.ReasonCanaryFailed):
		return []Event{canaryFailed(v.in.Selection.Failure.Message)}
	case v.canaryPassed():
		return []Event{v.canaryPassedEvent()}
	}
	return nil
}

// canaryPassed reports whether the rollout continues after its canary.
func (v *view) canaryPassed() bool {
	switch v.in.Selection.Mode {
	case revision.RolledBack, revision.Held, revision.Waiting, revision.InterimRollback:
		return false
	case revision.Normal, revision.Pinned, revision.WaitingRollback:
	}
	if v.rollout.CanaryFailure != "" || v.in.Selection.Paused {
		return false
	}
	if step := v.in.Selection.Step; step.Outcome != "" {
		return step.Outcome != rollout.Failing && step.Stage == history.Rolling
	}
	return v.rollout.Serving > 0 && (v.rollout.Phase == rollout.Loading || v.rollout.Phase == rollout.Settled)
}

func (v *view) canaryPassedEvent() Event {
	switch verdict := v.in.Verdict; {
	case verdict == nil:
		return canaryPassed("")
	case verdict.Outcome == canary.Undecided:
		return canaryPassedWithoutEvidence(verdict.Message)
	default:
		return canaryPassed(verdict.Message)
	}
}
