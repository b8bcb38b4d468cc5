package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
	"example.com/nginx-operator/test/golden"
)

// onCanary returns the input of an application whose canary has served for some of its 60 seconds.
func onCanary(seconds int, verdict canary.Verdict) Input {
	in := healthy()
	in.Nginx.Spec.Rollout = &v1alpha2.Rollout{Canary: &v1alpha2.Canary{}}
	in.Selection.Step = rollout.Step{Outcome: rollout.Going, Stage: history.Canary, AnalyzeAgain: []string{"web-1"}, Served: time.Duration(seconds) * time.Second}
	in.Verdict = &verdict
	return in
}

// TestCanaryProgress: the status contains the figures of both sides and the time, but is not
// written at every pass.
func TestCanaryProgress(t *testing.T) {
	messages := map[string]bool{}
	var last string
	for second := 0; second <= 600; second += 2 {
		n := int64(second)
		verdict := canary.Verdict{Outcome: canary.Good, Canary: canary.Figures{Requests: 20 * n, Errors: n / 50}, Others: canary.Figures{Requests: 60 * n}}
		if second > 60 {
			verdict = canary.Verdict{Outcome: canary.Undecided, Message: "fewer than 20 requests have reached the canary: not enough to compare", Others: canary.Figures{Requests: 3700}}
		}
		last = meta.FindStatusCondition(Compute(onCanary(second, verdict)).Status.Conditions, v1alpha2.ConditionUpToDate).Message
		messages[last] = true
		if second == 40 {
			want := "at least 100 requests to the canary, none answered with 5xx; at least 1000 requests to the other pods, none answered with 5xx; less than half of 60 seconds is left"
			if !strings.Contains(last, want) {
				t.Errorf("it says %q", last)
			}
		}
	}
	if !strings.Contains(last, "not enough to compare): the canary waits for up to 600 seconds more, then the rollout fails") {
		t.Errorf("without evidence it says %q", last)
	}
	if len(messages) > 9 {
		t.Errorf("%d different messages", len(messages))
	}
}

// TestNoEvidenceFails: the message does not announce a wait if the rollout fails at once.
func TestNoEvidenceFails(t *testing.T) {
	in := onCanary(60, canary.Verdict{Outcome: canary.Undecided, Message: "fewer than 20 requests"})
	in.Nginx.Spec.Rollout.Canary.OnNoEvidence = new(v1alpha2.OnNoEvidenceFail)
	got := meta.FindStatusCondition(Compute(in).Status.Conditions, v1alpha2.ConditionUpToDate).Message
	if !strings.HasSuffix(got, "60 seconds are over without enough evidence (fewer than 20 requests): the rollout fails (rollout.canary.onNoEvidence)") {
		t.Errorf("it says %q", got)
	}
}

// TestCanaryEvents: the result of a canary is reported in one event.
func TestCanaryEvents(t *testing.T) {
	var messages golden.Messages
	good := canary.Verdict{Outcome: canary.Good, Message: "none of about 40 requests failed"}
	none := canary.Verdict{Outcome: canary.Undecided, Message: "fewer than 20 requests"}
	passed := func(verdict canary.Verdict) Input {
		in := onCanary(60, verdict)
		in.Selection.Step = rollout.Step{Outcome: rollout.Going, Stage: history.Rolling}
		return in
	}
	lost := onCanary(10, none)
	lost.Selection.Step.AnalyzeAgain = nil
	failing := onCanary(20, none)
	failing.Selection.Step = rollout.Step{}
	failing.Selection.Mode = revision.RolledBack
	failing.Selection.Failure, failing.Selection.RolledBackTo = &history.Failure{Reason: v1alpha2.ReasonCanaryFailed, Message: "14 % failed"}, 1
	tests := map[string]struct {
		before, after Input
		reason, note  string
	}{
		"begins":                  {healthy(), onCanary(1, none), EventCanaryStarted, "fewer than 20 requests to the canary"},
		"continues":               {onCanary(1, none), onCanary(40, good), "", ""},
		"passes":                  {onCanary(50, good), passed(good), EventCanaryPassed, "The canary passed: none of about 40"},
		"passes without evidence": {onCanary(50, none), passed(none), EventCanaryPassed, "without evidence (rollout.canary.onNoEvidence: Pass)"},
		"loses its pod":           {onCanary(5, none), lost, "", ""},
		"fails":                   {onCanary(5, good), failing, EventCanaryFailed, "The canary failed: 14 % failed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.after.Nginx.Status = Compute(tt.before).Status
			var reason, note string
			for _, e := range Compute(tt.after).Events {
				if strings.HasPrefix(e.Reason, "Canary") {
					reason, note = reason+e.Reason, e.Note
					messages.Add("event "+e.Type+" "+e.Reason, e.Note)
				}
			}
			if reason != tt.reason || !strings.Contains(note, tt.note) {
				t.Errorf("%q: %q, want %q: %q", reason, note, tt.reason, tt.note)
			}
		})
	}
	messages.Compare(t, "canary-events.txt")
}
