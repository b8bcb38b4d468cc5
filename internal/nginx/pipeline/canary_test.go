package pipeline

import (
	"context"
	"errors"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/revision"
)

// TestCanaryAndOtherPods: a canary that always fails is bad if it is alone or the other pods do better. While none of
// them answers, nobody knows whether they do.
func TestCanaryAndOtherPods(t *testing.T) {
	r := &Pipeline{Requests: func(_ context.Context, podIP, _ string, _ int) (instanceapi.RequestWindow, error) {
		switch podIP {
		case "canary":
			return instanceapi.RequestWindow{Requests: 1000, Errors: 1000}, nil
		case "good":
			return instanceapi.RequestWindow{Requests: 1000}, nil
		default:
			return instanceapi.RequestWindow{}, errors.New("timeout")
		}
	}}
	for name, tt := range map[string]struct {
		others []revision.AnalyzedPod
		silent int
		want   canary.Outcome
	}{
		"alone":                           {nil, 0, canary.Bad},
		"with one that is good":           {[]revision.AnalyzedPod{{PodIP: "good"}}, 0, canary.Bad},
		"with one that is silent, too":    {[]revision.AnalyzedPod{{PodIP: "good"}}, 1, canary.Bad},
		"with one that does not answer":   {[]revision.AnalyzedPod{{PodIP: "mute"}}, 0, canary.Undecided},
		"with one that was silent before": {nil, 1, canary.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := r.analyzeCanary(t.Context(), revision.CanaryAnalysis{
				Canaries: []revision.AnalyzedPod{{PodIP: "canary"}}, Others: tt.others, Silent: tt.silent, Seconds: 10,
				Limits: canary.Limits{MaxErrorPercent: 1},
			})
			if verdict.Outcome != tt.want {
				t.Errorf("the canary is %s: %s", verdict.Outcome, verdict.Message)
			}
		})
	}
}
