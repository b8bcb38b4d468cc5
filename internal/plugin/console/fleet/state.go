package fleet

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// State is what an application, or a condition, needs from its user. The page shows the states in this order.
type State string

// The states of an application.
const (
	NotReady State = "notReady"
	// Progressing: the operator has not finished, or has not reported on the present spec.
	Progressing State = "progressing"
	Waiting     State = "waiting"
	Suspended   State = "suspended"
	Ready       State = "ready"
)

// StateOf returns the state of an application from its condition Ready, which is nil if the operator has not reported on
// the present spec.
func StateOf(ready *metav1.Condition, waiting, suspended bool) State {
	state := Progressing
	if ready != nil {
		state = ConditionState(ready)
	}
	switch {
	case waiting && state == NotReady:
		return Waiting
	case suspended && state != Waiting:
		return Suspended
	}
	return state
}

// ConditionState returns the state that a condition reports.
func ConditionState(c *metav1.Condition) State {
	switch {
	case c.Status == metav1.ConditionTrue:
		return Ready
	case c.Status != metav1.ConditionFalse:
		return Progressing
	}
	switch c.Reason {
	case v1alpha2.ReasonWaitingForGate, v1alpha2.ReasonRolloutPaused:
		return Waiting
	case v1alpha2.ReasonSuspended:
		return Suspended
	case v1alpha2.ReasonRolloutInProgress, v1alpha2.ReasonConfigPending, v1alpha2.ReasonConfigLoading, v1alpha2.ReasonCanaryRunning,
		v1alpha2.ReasonCertificatePending, v1alpha2.ReasonWaitingForDeletion, v1alpha2.ReasonExposurePending:
		return Progressing
	}
	return NotReady
}
