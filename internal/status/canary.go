package status

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/canary"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/rollout"
	"example.com/nginx-operator/internal/trouble"
)

// Defaults of spec.rollout, for messages.
const (
	defaultCanaryDuration   = 60
	defaultProgressDeadline = 600
)

// canaryProgress tells how far canaries have come. Every part of it changes a few times in the life of
// a canary, so that the status is not written at each look: numbers are lower bounds that only grow.
func (v *view) canaryProgress() string {
	text := "The first pods with what is new are compared with the others (rollout.canary): "
	if verdict := v.in.State.Verdict; verdict != nil {
		return text + canaryFigures(verdict) + "; " + v.canaryTime(verdict)
	}
	return text + "it has just begun"
}

// canaryFigures are those of both sides.
func canaryFigures(verdict *canary.Verdict) string {
	if verdict.Outcome == canary.NotMeasured {
		return verdict.Message
	}
	return fmt.Sprintf("%s to the canary, %s; %s to the other pods, %s",
		requestsSoFar(verdict.Canary.Requests), errorsSoFar(verdict.Canary.Errors),
		requestsSoFar(verdict.Others.Requests), errorsSoFar(verdict.Others.Errors))
}

// evidence is how many requests of a side are enough to compare errors, see package canary.
const evidence = 20

func requestsSoFar(n int64) string {
	if n < evidence {
		return fmt.Sprintf("fewer than %d requests", evidence)
	}
	if n < 100 {
		return fmt.Sprintf("at least %d requests", evidence)
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

// decade is the greatest power of ten that is not greater than n.
func decade(n int64) int64 {
	d := int64(1)
	for d <= n/10 {
		d *= 10
	}
	return d
}

// canaryTime tells what time is left.
func (v *view) canaryTime(verdict *canary.Verdict) string {
	want := ptr.Deref(v.rolloutSpec().Canary, v1alpha2.Canary{})
	seconds := ptr.Deref(want.DurationSeconds, defaultCanaryDuration)
	total := time.Duration(seconds) * time.Second
	switch left := total - v.canaryServed(); {
	case left > total/2:
		return fmt.Sprintf("more than half of %d seconds is left", seconds)
	case left > 0:
		return fmt.Sprintf("less than half of %d seconds is left", seconds)
	case verdict.Outcome == canary.Undecided && want.OnNoEvidence == v1alpha2.OnNoEvidenceFail:
		return fmt.Sprintf("%d seconds are over without enough evidence (%s): the rollout fails (rollout.canary.onNoEvidence)", seconds, verdict.Message)
	case verdict.Outcome == canary.Undecided:
		return fmt.Sprintf("%d seconds are over without enough evidence (%s): it is waited for up to %d seconds more, then the rollout fails (rollout.canary.onNoEvidence, rollout.progressDeadlineSeconds)",
			seconds, verdict.Message, ptr.Deref(v.rolloutSpec().ProgressDeadlineSeconds, defaultProgressDeadline))
	default:
		return fmt.Sprintf("%d seconds are over", seconds)
	}
}

// canaryServed is for how long the canaries have served.
func (v *view) canaryServed() time.Duration {
	if step := v.in.Plan.Step; len(step.Judge) > 0 {
		return step.Served
	}
	return v.rollout.Served
}

// canaryEvents tell that a canary has begun, has passed, or has failed.
func canaryEvents(v *view, t transition) []Event {
	was := t.before != nil && t.before.Reason == v1alpha2.ReasonCanaryRunning
	is := t.after.Reason == v1alpha2.ReasonCanaryRunning
	switch {
	case is && !was:
		return []Event{{corev1.EventTypeNormal, EventCanaryStarted, actionRollout, t.after.Message}}
	case is || !was || v.in.Plan == nil:
		return nil
	case v.in.Plan.Failure != nil && v.in.Plan.Failure.Reason == v1alpha2.ReasonCanaryFailed:
		return []Event{{corev1.EventTypeWarning, EventCanaryFailed, actionRollout, trouble.Clip("The canary failed: " + v.in.Plan.Failure.Message)}}
	case v.canaryPassed():
		return []Event{v.passedCanary()}
	}
	return nil
}

// canaryPassed tells whether what had canaries goes on.
func (v *view) canaryPassed() bool {
	plan := v.in.Plan
	if plan.Failure != nil || plan.Waiting != nil || plan.Retreat != nil || v.rollout.CanaryFailure != "" {
		return false
	}
	if plan.Step.Outcome != "" {
		return plan.Step.Outcome != rollout.Failing && plan.Step.Stage == history.Rolling
	}
	return v.rollout.Serving > 0 && (v.rollout.Phase == rollout.Loading || v.rollout.Phase == rollout.Settled)
}

func (v *view) passedCanary() Event {
	passed := Event{corev1.EventTypeNormal, EventCanaryPassed, actionRollout, "The canary passed"}
	switch verdict := v.in.State.Verdict; {
	case verdict == nil:
	case verdict.Outcome == canary.Undecided:
		passed.Type = corev1.EventTypeWarning
		passed.Note = "The canary passed without evidence (rollout.canary.onNoEvidence: Pass): " + verdict.Message
	default:
		passed.Note += ": " + verdict.Message
	}
	passed.Note = trouble.Clip(passed.Note)
	return passed
}
