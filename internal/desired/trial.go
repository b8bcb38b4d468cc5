package desired

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/canary"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/observe"
)

// Trial is a comparison of canaries with the other pods that somebody has to make.
type Trial struct {
	Canaries, Others []TrialPod
	// Seconds is for how long the canaries have served.
	Seconds int
	Limits  canary.Limits
}

// TrialPod is a pod whose requests are compared.
type TrialPod struct {
	PodIP string
	// Revision of the configuration that it serves; empty: it did not answer.
	Revision string
	// Reloaded tells that it served another configuration before.
	Reloaded bool
}

// trial is the comparison that the next decision needs; nil: none. The pods of a new
// template are compared with those of the old one, and pods with a new configuration with
// those that do not serve it yet.
func (in *input) trial() *Trial {
	judge, served := in.step.Judge, in.step.Served
	other := func(i int) bool { return observe.TemplateOf(&in.state.Pods[i]) != in.course.run.hash }
	reloaded := len(judge) == 0
	if reloaded {
		judge, served = in.decision.Judge, in.decision.Served
		other = func(i int) bool { return !slices.Contains(judge, in.state.Pods[i].Name) }
	}
	if len(judge) == 0 || served < time.Second {
		return nil
	}
	t := &Trial{
		Seconds: min(int(served.Seconds()), instanceapi.MaxWindow),
		Limits:  canary.Limits{MaxErrorPercent: defaultCanaryErrors},
	}
	if want := in.rolloutSpec().Canary; want != nil {
		t.Limits.MaxErrorPercent = ptr.Deref(want.MaxErrorPercent, defaultCanaryErrors)
		if want.MaxLatencyRatio != nil {
			t.Limits.MaxLatencyRatio = want.MaxLatencyRatio.AsApproximateFloat64()
		}
	}
	for i := range in.state.Pods {
		pod := &in.state.Pods[i]
		compared := TrialPod{PodIP: pod.Status.PodIP}
		if instance := in.state.Instances[pod.Name]; instance != nil {
			compared.Revision = instance.Serving
		}
		switch {
		case !observe.Ready(pod) || in.state.Instances[pod.Name] == nil:
			// Who is known not to answer is not asked: that would only take time.
		case slices.Contains(judge, pod.Name):
			compared.Reloaded = reloaded
			t.Canaries = append(t.Canaries, compared)
		case other(i):
			t.Others = append(t.Others, compared)
		}
	}
	return t
}
