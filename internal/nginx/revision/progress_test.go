package revision

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// TestPodsThatAreNotCreated: the API server's message about a pod that it rejects is in the
// Deployment's status long before the Deployment controller gives up.
func TestPodsThatAreNotCreated(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	d := &appsv1.Deployment{}
	d.Spec.Template.Annotations = map[string]string{naming.AnnotationTemplate: "new"}
	d.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetCreated"},
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: few"},
	}
	p := &progress{
		Input: Input{
			Nginx: &v1alpha2.NginxOperator{}, Now: now,
			State: observe.State{Owned: map[owned.Key]owned.Object{{Kind: "Deployment"}: d}},
		},
		selection: &Selection{Run: Revision{Hash: "new"}},
	}
	p.Began = &history.Revision{Template: "new", Stage: history.Proving, StartedAt: now.Add(-time.Hour)}
	if message := p.advanceTemplate().Diagnosis.Message; !strings.Contains(message, "exceeded quota: few") {
		t.Errorf("the message is %q", message)
	}

	p.selection.Run.Hash = "another"
	if message := p.advanceTemplate().Diagnosis.Message; strings.Contains(message, "quota") {
		t.Errorf("the words are about another template: %q", message)
	}
}
