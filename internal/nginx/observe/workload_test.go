package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestObserved: annotating a Deployment is no rollout.
func TestObserved(t *testing.T) {
	tests := map[string]struct {
		observed int64
		pods     []string
		want     bool
	}{
		"it was seen":                                 {observed: 2, pods: []string{"new", "old"}, want: true},
		"pods of its template, and nothing else":      {observed: 1, pods: []string{"new", "new"}, want: true},
		"one that goes does not count":                {observed: 1, pods: []string{"new", "new", "going"}, want: true},
		"it has another template, which no pod is of": {observed: 1, pods: []string{"old", "old"}},
		"one pod is of another template":              {observed: 1, pods: []string{"new", "old"}},
		"there is one more":                           {observed: 1, pods: []string{"new", "new", "new"}},
		"there is one less":                           {observed: 1, pods: []string{"new"}},
		"it was never seen":                           {observed: 0, pods: []string{"new", "new"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2}}
			d.Spec.Template.Annotations = map[string]string{naming.AnnotationTemplate: "new"}
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: tt.observed, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
			state := State{Owned: map[owned.Key]owned.Object{{Kind: "Deployment", Name: "web"}: d}}
			for _, template := range tt.pods {
				pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{naming.AnnotationTemplate: template}}}
				if template == "going" {
					pod.DeletionTimestamp = new(metav1.Now())
				}
				state.Pods = append(state.Pods, pod)
			}
			if got := state.WorkloadStatusCurrent(); got != tt.want {
				t.Errorf("observed: %t, want %t", got, tt.want)
			}
			if got := state.RolledOut(2); got != tt.want {
				t.Errorf("rolled out: %t, want %t", got, tt.want)
			}
			if state.RolledOut(3) {
				t.Error("more pods than there are have been rolled out")
			}
		})
	}
}
