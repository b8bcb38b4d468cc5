package rollout

import (
	"fmt"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/canary"
)

// Canary is how the first pods are compared with the others.
type Canary struct {
	// Replicas is the number of canaries, Duration the time that they have to serve.
	Replicas int
	Duration time.Duration
	// Verdict is the result of the comparison in this pass; nil if there was none.
	Verdict *canary.Verdict
	// OnNoEvidence is what happens if there are too few requests after Duration, and Wait how much longer to wait for
	// them.
	OnNoEvidence v1alpha2.OnNoEvidence
	Wait         time.Duration
}

// conclude reports whether canaries pass after the time that they have served, or why they fail. If neither, they
// continue.
func (c *Canary) conclude(served time.Duration) (passed bool, failure string) {
	v := c.Verdict
	switch {
	case v == nil:
		return false, ""
	case v.Outcome == canary.Bad:
		return false, v.Message
	case served < c.Duration:
		return false, ""
	case v.Outcome != canary.Undecided || c.OnNoEvidence == v1alpha2.OnNoEvidencePass:
		return true, ""
	case c.OnNoEvidence == v1alpha2.OnNoEvidenceFail || served >= c.Duration+c.Wait:
		return false, fmt.Sprintf("there is no evidence that it works after %d seconds (rollout.canary.onNoEvidence): %s", int((c.Duration + c.Wait).Seconds()), v.Message)
	default:
		return false, ""
	}
}

// pause returns the time until canaries are compared again.
func (c *Canary) pause(served time.Duration) time.Duration {
	for _, end := range []time.Duration{c.Duration, c.Duration + c.Wait} {
		if served < end {
			return min(analysisInterval, end-served)
		}
	}
	return analysisInterval
}

// canary finds the pods that serve the configuration first, while they are compared with the others.
func (d *Decision) canary(in Input) {
	if in.Canary == nil || in.Stable == in.Requested || in.Stable == "" || in.Proven || in.canaryPassed() {
		return
	}
	for _, p := range in.Pods {
		if p.serves(in.Requested) && p.Status.ServingSeconds != nil {
			d.AnalyzeAgain = append(d.AnalyzeAgain, p.Name)
			d.Served = max(d.Served, time.Duration(*p.Status.ServingSeconds)*time.Second)
		}
	}
	if len(d.AnalyzeAgain) == 0 {
		return
	}
	passed, failure := in.Canary.conclude(d.Served)
	if passed {
		d.AnalyzeAgain = nil
		return
	}
	d.CanaryFailure = failure
	d.After = in.Canary.pause(d.Served)
}

// canaryPassed reports whether more pods than the canaries may load the configuration, which happens only after the
// canaries have passed.
func (in *Input) canaryPassed() bool {
	authorized := 0
	for _, p := range in.Pods {
		if p.serves(in.Requested) || p.orderedToLoad(in.Requested) {
			authorized++
		}
	}
	return authorized > in.Canary.Replicas
}
