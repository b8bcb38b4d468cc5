package desired

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// TestPodsThatAreNotCreated: the API server's words on a pod that it does not take are in
// the Deployment's status long before the Deployment controller gives up.
func TestPodsThatAreNotCreated(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	d := &appsv1.Deployment{}
	d.Spec.Template.Annotations = map[string]string{naming.AnnotationTemplate: "new"}
	d.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetCreated"},
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: few"},
	}
	in := &input{
		nginx:  &v1alpha2.NginxOperator{},
		course: course{run: revision{hash: "new"}},
		began:  &history.Revision{Template: "new", Stage: history.Proving, StartedAt: now.Add(-time.Hour)},
		state:  observe.State{Now: now, Owned: map[observe.Key]observe.Object{{Kind: "Deployment"}: d}},
	}
	if message := in.advance().Trouble.Message; !strings.Contains(message, "exceeded quota: few") {
		t.Errorf("the message is %q", message)
	}

	in.course.run.hash = "another"
	if message := in.advance().Trouble.Message; strings.Contains(message, "quota") {
		t.Errorf("the words are about another template: %q", message)
	}
}
