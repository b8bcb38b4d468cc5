package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestChangesPods: the history is verified before pods get something else to run, and not before every
// write.
func TestChangesPods(t *testing.T) {
	deployment := func(template string, ready int32) owned.Object {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), MinReadySeconds: ready}}
		d.Spec.Template.Annotations = map[string]string{naming.AnnotationTemplate: template}
		return d
	}
	intent := func(template string) *appsv1ac.DeploymentSpecApplyConfiguration {
		return appsv1ac.DeploymentSpec().WithReplicas(2).
			WithTemplate(corev1ac.PodTemplateSpec().WithAnnotations(map[string]string{naming.AnnotationTemplate: template}))
	}
	tests := map[string]struct {
		action apply.Action
		live   owned.Object
		spec   *appsv1ac.DeploymentSpecApplyConfiguration
		want   bool
	}{
		"other replicas":                 {apply.Update, deployment("a", 0), intent("a"), false},
		"another template":               {apply.Update, deployment("a", 0), intent("b"), true},
		"a rollout is continued":         {apply.Update, deployment("a", 5), intent("a"), true},
		"a rollout is held":              {apply.Update, deployment("a", 5), intent("a").WithMinReadySeconds(1 << 30), true},
		"what was written stands":        {apply.Leave, deployment("a", 0), intent("b"), false},
		"another client changed a field": {apply.Heal, deployment("b", 0), intent("a"), false},
		"it is new":                      {apply.Create, nil, intent("a"), false},
		"another configuration":          {apply.Update, &corev1.ConfigMap{}, nil, true},
		"another account":                {apply.Update, &corev1.ServiceAccount{}, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			change := apply.Change{Action: tt.action, Live: tt.live}
			if tt.spec != nil {
				change.Intent = owned.Intent{Config: appsv1ac.Deployment("web", "shop").WithSpec(tt.spec)}
			}
			if got := ChangesPods([]apply.Change{{Action: apply.Leave}, change}); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
