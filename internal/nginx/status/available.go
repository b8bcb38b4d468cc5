package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// availableChecks make Available True when spec.replicas minus rollout.maxUnavailable pods serve, old or new.
var availableChecks = []check{scaledToZero, enoughServe, tooFewServe}

func scaledToZero(v *view) *verdict {
	if v.replicas == 0 {
		return trueVerdict(v1alpha2.ReasonScaledToZero, "The application is scaled to zero")
	}
	return nil
}

func enoughServe(v *view) *verdict {
	if least := v.leastServing(); v.servingReplicas() >= least {
		return trueVerdict(v1alpha2.ReasonMinimumReplicasAvailable, fmt.Sprintf("At least %s", serve(least))+v.noAddress())
	}
	return nil
}

func tooFewServe(v *view) *verdict {
	message := fmt.Sprintf("%s; at least %s required (spec.replicas minus rollout.maxUnavailable)", serve(v.servingReplicas()), are(v.leastServing()))
	if v.diagnosis != nil {
		return falseVerdict(v1alpha2.ReasonMinimumReplicasUnavailable, message+": "+v.diagnosis.Message)
	}
	return falseVerdict(v1alpha2.ReasonMinimumReplicasUnavailable, message+v.failedCheck())
}

// leastServing returns how many pods have to serve.
func (v *view) leastServing() int32 { return v.replicas - v.maxUnavailable() }

// servingReplicas returns the pods that the workload's controller counts as available. While a rollout protects serving pods,
// that count requires more of a pod than to be ready, and says nothing about the old ones. It may be stale right after that.
//
// The pods come from another cache. The lower count is used: otherwise an application could be Ready without a ready
// replica.
func (v *view) servingReplicas() int32 {
	w := v.workload()
	if w == nil {
		return 0
	}
	counted := w.Available
	if v.protectServingPods() || w.ObservedGeneration < w.Object.GetGeneration() {
		counted = w.Ready
	}
	return min(counted, v.readyReplicas())
}

func (v *view) readyReplicas() int32 {
	var n int32
	for i := range v.in.State.Pods {
		if observe.Ready(&v.in.State.Pods[i]) {
			n++
		}
	}
	return n
}

// protectServingPods reports whether new pods still have to prove themselves, or are held.
func (v *view) protectServingPods() bool {
	s := &v.in.Selection
	return s.Mode == revision.Held || s.Paused && s.Began != nil || s.Step.Stage == history.Proving || s.Step.Stage == history.Canary
}

func are(pods int32) string {
	if pods == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", pods)
}

func serve(pods int32) string {
	if pods == 1 {
		return "1 pod serves"
	}
	return fmt.Sprintf("%d pods serve", pods)
}

func (v *view) maxUnavailable() int32 {
	rollout := v.in.Nginx.Spec.Rollout
	if rollout == nil || rollout.MaxUnavailable == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(rollout.MaxUnavailable, int(v.replicas), false)
	if err != nil {
		// The schema allows only numbers and percentages. All pods must serve then.
		return 0
	}
	return min(int32(n), v.replicas)
}
