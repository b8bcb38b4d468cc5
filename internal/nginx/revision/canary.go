package revision

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/observe"
)

// CanaryAnalysis is a comparison to make of canaries with the other pods.
type CanaryAnalysis struct {
	Canaries, Others []AnalyzedPod
	// Silent is the number of other pods that are known not to answer. They are not queried: that would only take time.
	Silent int
	// Seconds is how long the canaries have served.
	Seconds int
	Limits  canary.Limits
}

// AnalyzedPod is a pod whose requests are compared.
type AnalyzedPod struct {
	PodIP string
	// Revision of the configuration that it serves; empty if it did not answer.
	Revision string
	// Reloaded reports whether it served another configuration before.
	Reloaded bool
}

// canaryAnalysis returns the comparison that the next decision needs; nil if none. It compares pods of a new template
// with those of the old one, or pods with a new configuration with those that do not serve it yet.
func (p *progress) canaryAnalysis() *CanaryAnalysis {
	analyze, served := p.Step.AnalyzeAgain, p.Step.Served
	other := func(i int) bool { return observe.TemplateOf(&p.State.Pods[i]) != p.selection.Run.Hash }
	reloaded := len(analyze) == 0
	if reloaded {
		analyze, served = p.Rollout.AnalyzeAgain, p.Rollout.Served
		other = func(i int) bool { return !slices.Contains(analyze, p.State.Pods[i].Name) }
	}
	if len(analyze) == 0 || served < time.Second {
		return nil
	}
	analysis := &CanaryAnalysis{Seconds: min(int(served.Seconds()), instanceapi.MaxWindow), Limits: p.canaryLimits()}
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		compared := AnalyzedPod{PodIP: pod.Status.PodIP}
		if instance := p.State.Instances[pod.Name]; instance != nil {
			compared.Revision = instance.Serving
		}
		switch {
		case !observe.Ready(pod):
		case p.State.Instances[pod.Name] == nil:
			if other(i) {
				analysis.Silent++
			}
		case slices.Contains(analyze, pod.Name):
			compared.Reloaded = reloaded
			analysis.Canaries = append(analysis.Canaries, compared)
		case other(i):
			analysis.Others = append(analysis.Others, compared)
		}
	}
	return analysis
}

func (p *progress) canaryLimits() canary.Limits {
	limits := canary.Limits{MaxErrorPercent: defaultCanaryErrors}
	if want := p.rolloutSpec().Canary; want != nil {
		limits.MaxErrorPercent = ptr.Deref(want.MaxErrorPercent, defaultCanaryErrors)
		if want.MaxLatencyRatio != nil {
			limits.MaxLatencyRatio = want.MaxLatencyRatio.AsApproximateFloat64()
		}
	}
	return limits
}
