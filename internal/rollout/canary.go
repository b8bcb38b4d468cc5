package rollout

import (
	"fmt"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/canary"
)

// Canary is how the first ones are compared with the others.
type Canary struct {
	// Replicas is how many there are, Duration for how long they have to serve.
	Replicas int
	Duration time.Duration
	// Verdict is that of the comparison in this pass; nil: there was none.
	Verdict *canary.Verdict
	// OnNoEvidence is what happens when there are too few requests after Duration, and Wait how much
	// longer they are waited for.
	OnNoEvidence v1alpha2.OnNoEvidence
	Wait         time.Duration
}

// conclude tells whether canaries that have served for a time pass, or why they fail. Neither: they
// have to go on.
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

// pause is how long to wait until canaries that have served for a time are looked at again.
func (c *Canary) pause(served time.Duration) time.Duration {
	for _, end := range []time.Duration{c.Duration, c.Duration + c.Wait} {
		if served < end {
			return min(judgePause, end-served)
		}
	}
	return judgePause
}

// canary finds the pods that serve the configuration first, while they are compared with the others.
func (d *Decision) canary(in Input) {
	if in.Canary == nil || in.Stable == in.Requested || in.Stable == "" || in.Proven || in.canaryPassed() {
		return
	}
	for _, p := range in.Pods {
		if p.serves(in.Requested) && p.Status.ServingSeconds != nil {
			d.Judge = append(d.Judge, p.Name)
			d.Served = max(d.Served, time.Duration(*p.Status.ServingSeconds)*time.Second)
		}
	}
	if len(d.Judge) == 0 {
		return
	}
	passed, failure := in.Canary.conclude(d.Served)
	if passed {
		d.Judge = nil
		return
	}
	d.CanaryFailure = failure
	d.After = in.Canary.pause(d.Served)
}

// canaryPassed tells whether more pods than the canaries were let load the configuration: that comes after
// the canaries have passed.
func (in *Input) canaryPassed() bool {
	let := 0
	for _, p := range in.Pods {
		if p.serves(in.Requested) || p.mayLoad(in.Requested) {
			let++
		}
	}
	return let > in.Canary.Replicas
}
