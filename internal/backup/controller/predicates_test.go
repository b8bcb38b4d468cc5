package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"example.com/nginx-operator/api/v1alpha2"
)

// waiting returns an application whose rollout waits for a gate.
func waiting() *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 3},
		Status: v1alpha2.NginxOperatorStatus{
			ObservedGeneration: 3,
			WaitingRollout:     &v1alpha2.WaitingRollout{Revision: "web-2", Gates: []string{"backup"}},
			Conditions:         []metav1.Condition{{Type: v1alpha2.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonWaitingForGate}},
			Config:             &v1alpha2.ConfigStatus{Revision: "c", StableRevision: "c"},
			ReadyReplicas:      1,
		},
	}
}

// TestTargetChanged: each change that affects a decision passes. A gate is opened only if the
// status describes the current spec, so that is such a change too.
func TestTargetChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after func(*v1alpha2.NginxOperator)
		want          bool
	}{
		"nothing":               {after: func(*v1alpha2.NginxOperator) {}},
		"pods":                  {after: func(n *v1alpha2.NginxOperator) { n.Status.ReadyReplicas = 2 }},
		"spec":                  {after: func(n *v1alpha2.NginxOperator) { n.Generation++ }, want: true},
		"labels":                {after: func(n *v1alpha2.NginxOperator) { n.Labels = map[string]string{"a": "b"} }, want: true},
		"status of a new spec":  {before: func(n *v1alpha2.NginxOperator) { n.Status.ObservedGeneration-- }, want: true},
		"another rollout waits": {after: func(n *v1alpha2.NginxOperator) { n.Status.WaitingRollout.Revision = "web-3" }, want: true},
		"nothing waits":         {after: func(n *v1alpha2.NginxOperator) { n.Status.WaitingRollout = nil }, want: true},
		"served configuration":  {after: func(n *v1alpha2.NginxOperator) { n.Status.Config.StableRevision = "d" }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := waiting(), waiting()
			if tt.before != nil {
				tt.before(before)
			}
			if tt.after != nil {
				tt.after(after)
			}
			if got := TargetChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tt.want {
				t.Errorf("it wakes: %v, want %v", got, tt.want)
			}
		})
	}
}
