package revision

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
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

// TestPodWithoutACertificate: a new pod that serves without a certificate that the old pods have is not good enough to
// replace them. Without such an old pod, it is.
func TestPodWithoutACertificate(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	pod := func(name, template string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{naming.AnnotationTemplate: template}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))},
			}},
		}
	}
	bad, kept, good := instanceapi.Certificate{Name: "blog", Error: "the Secret has no tls.key"}, instanceapi.Certificate{Name: "blog", Error: "the Secret has no tls.key", NotAfter: &now}, instanceapi.Certificate{Name: "blog", NotAfter: &now}
	for _, tt := range []struct {
		name       string
		fresh, old *instanceapi.Certificate
		ready      bool
	}{
		{"the old pod keeps the last good pair", &bad, &kept, false},
		{"the old pod has none either", &bad, &bad, true},
		{"both keep the last good pair", &kept, &kept, true},
		{"both are good", &good, &good, true},
		{"there is no old pod", &bad, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state := observe.State{Pods: []corev1.Pod{pod("new", "new")}, Instances: map[string]*instanceapi.Status{"new": {Certificates: []instanceapi.Certificate{*tt.fresh}}}}
			if tt.old != nil {
				state.Pods = append(state.Pods, pod("old", "old"))
				state.Instances["old"] = &instanceapi.Status{Certificates: []instanceapi.Certificate{*tt.old}}
			}
			p := &progress{Input: Input{Nginx: &v1alpha2.NginxOperator{}, Now: now, State: state}, selection: &Selection{Run: Revision{Hash: "new"}}}
			fresh := p.newPods()
			if len(fresh) != 1 || fresh[0].Ready != tt.ready || !tt.ready && fresh[0].NotReady != "tls blog: the Secret has no tls.key" {
				t.Errorf("the new pods are %+v", fresh)
			}
		})
	}
}
