package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/observe"
)

// available is True when replicas less rollout.maxUnavailable pods serve, whether they
// are old or new.
func available(v *view) judgement {
	if v.replicas == 0 {
		return judgement{metav1.ConditionTrue, v1alpha2.ReasonScaledToZero, "No pod is asked for"}
	}
	least := v.replicas - v.maxUnavailable()
	serving := v.serving()
	if serving >= least {
		return judgement{metav1.ConditionTrue, v1alpha2.ReasonMinimumReplicasAvailable, fmt.Sprintf("At least %s", serve(least)) + v.noAddress()}
	}
	message := fmt.Sprintf("%s, at least %d must (spec.replicas less rollout.maxUnavailable)", serve(serving), least)
	if v.trouble != nil {
		message += ": " + v.trouble.Message
	} else {
		message += v.failedCheck()
	}
	return judgement{metav1.ConditionFalse, v1alpha2.ReasonMinimumReplicasUnavailable, message}
}

// serving is what the Deployment controller counts as available. While a rollout is being
// careful, that asks more of a pod than to be ready, and says nothing about the old ones.
//
// The pods themselves come from another cache, and the one that lags behind is believed:
// otherwise an application could be Ready with no ready replica.
func (v *view) serving() int32 {
	d := v.in.State.Deployment()
	if d == nil {
		return 0
	}
	counted := d.Status.AvailableReplicas
	if v.careful() {
		counted = d.Status.ReadyReplicas
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

// careful tells whether new pods are on trial, or held.
func (v *view) careful() bool {
	p := v.in.Plan
	if p == nil {
		return false
	}
	held := p.Failure != nil && p.Back == 0
	return held || p.Step.Stage == history.Proving || p.Step.Stage == history.Canary
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
		// The schema allows numbers and percentages only: all pods must serve.
		return 0
	}
	return min(int32(n), v.replicas)
}
