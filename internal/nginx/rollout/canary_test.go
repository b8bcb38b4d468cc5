package rollout

import (
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/history"
)

// TestCanaryNeedsEvidence: onNoEvidence decides what happens to canaries of 20 s that no request
// has reached, with a deadline of 60 s.
func TestCanaryNeedsEvidence(t *testing.T) {
	none := &canary.Verdict{Outcome: canary.Undecided, Message: "fewer than 20 requests"}
	good, bad := verdict(""), verdict("5xx")
	unmeasured := &canary.Verdict{Outcome: canary.NotMeasured, Message: "not measured"}
	const wait, pass, fail = v1alpha2.OnNoEvidenceWait, v1alpha2.OnNoEvidencePass, v1alpha2.OnNoEvidenceFail
	tests := map[string]struct {
		verdict *canary.Verdict
		on      v1alpha2.OnNoEvidence
		served  int64
		passed  bool
		failure string
		after   time.Duration
	}{
		"not compared yet":            {nil, wait, 20, false, "", 5 * time.Second},
		"before its time":             {none, fail, 19, false, "", time.Second},
		"waits":                       {none, wait, 20, false, "", 5 * time.Second},
		"waits to the end":            {none, wait, 79, false, "", time.Second},
		"waited in vain":              {none, wait, 80, false, "there is no evidence that it works after 80 seconds (rollout.canary.onNoEvidence): fewer than 20", 0},
		"evidence comes late":         {good, wait, 70, true, "", 0},
		"late evidence against it":    {bad, wait, 70, false, "5xx", 0},
		"no pass for a while":         {good, wait, 1000, true, "", 0},
		"no evidence is needed":       {none, pass, 20, true, "", 0},
		"no evidence is a failure":    {none, fail, 20, false, "no evidence", 0},
		"it is never measured":        {unmeasured, fail, 20, true, "", 0},
		"it is never measured, early": {unmeasured, wait, 19, false, "", time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := &Canary{Replicas: 1, Duration: 20 * time.Second, Verdict: tt.verdict, OnNoEvidence: tt.on}
			if tt.on == wait {
				c.Wait = time.Minute
			}
			step := Advance(rollingOut(history.Canary, time.Hour, readyFor(time.Duration(tt.served)*time.Second)).with(func(in *TemplateInput) { in.Canary = c }))
			if (step.Stage == history.Rolling) != tt.passed || !strings.Contains(step.Diagnosis.Message, tt.failure) || (step.Outcome == Failing) != (tt.failure != "") {
				t.Errorf("a template: %+v", step)
			}
			if !tt.passed && step.After != tt.after {
				t.Errorf("a template is analyzed after %s, want %s", step.After, tt.after)
			}
			first := pod("a", requested("new", "new"), serving("new"))
			first.Status.ServingSeconds = &tt.served
			d := Decide(Input{Requested: "new", Stable: "old", Canary: c, Pods: []Pod{first, pod("b", requested("new", ""), tested("Passed"))}})
			if (len(d.Orders) > 0) != tt.passed || !strings.Contains(d.CanaryFailure, tt.failure) || (d.CanaryFailure != "") != (tt.failure != "") {
				t.Errorf("a configuration: %+v", d)
			}
		})
	}
}

// TestCanaryPassesOnce: as soon as other pods load the configuration, the canary is no longer
// compared.
func TestCanaryPassesOnce(t *testing.T) {
	seconds := int64(30)
	first := pod("a", requested("new", "new"), serving("new"))
	first.Status.ServingSeconds = &seconds
	in := Input{Requested: "new", Stable: "old", Canary: &Canary{Replicas: 1, Duration: 20 * time.Second, Verdict: verdict("5xx")},
		Pods: []Pod{first, pod("b", requested("new", "new"), tested("Passed")), pod("c", requested("new", ""), tested("Passed"))}}
	if d := Decide(in); len(d.AnalyzeAgain) > 0 || d.CanaryFailure != "" {
		t.Errorf("it is compared again: %+v", d)
	}
}
