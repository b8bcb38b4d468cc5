package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/rollout"
)

// TestRefusalIsKept: the pod that has lost its container to a configuration may be replaced
// by one that knows nothing of it.
func TestRefusalIsKept(t *testing.T) {
	p := newPlay(t)
	p.nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": "server { listen 80; }"}}
	problems := []instanceapi.Problem{{Message: "out of memory"}}
	in := func(refused, template string) *input {
		requested, _ := requestedConfig(p.nginx, observe.State{})
		in := &input{nginx: p.nginx, requested: requested}
		in.course.run.hash = template
		in.decision = rollout.Decision{Phase: rollout.Rejected, Fatal: true, Problems: problems}
		if refused != "" {
			cm := convertTo(t, mustBuild(t, in))
			in.state.Owned = map[observe.Key]observe.Object{{Kind: "ConfigMap", Name: cm.Name}: cm}
			cm.Annotations[naming.AnnotationConfigRefused] = refused
		}
		return in
	}
	kept := convertTo(t, mustBuild(t, in("", "t1"))).Annotations[naming.AnnotationConfigRefused]
	if diff := cmp.Diff(problems, in(kept, "t1").refused()); diff != "" {
		t.Error(diff)
	}
	if got := in(kept, "t2").refused(); got != nil {
		t.Errorf("another template, with more memory perhaps, is refused: %v", got)
	}
	other := in(kept, "t1")
	other.requested.Revision = "0000000000000000"
	if got := other.refused(); got != nil {
		t.Errorf("another configuration is refused: %v", got)
	}
	if got := in("{", "t1").refused(); got != nil {
		t.Errorf("nonsense refuses: %v", got)
	}
	fine := in("", "t1")
	fine.decision.Fatal = false
	if _, ok := convertTo(t, mustBuild(t, fine)).Annotations[naming.AnnotationConfigRefused]; ok {
		t.Error("what is not refused for good has the annotation")
	}
}

func mustBuild(t *testing.T, in *input) object {
	t.Helper()
	next, err := nextConfigMap(in)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func convertTo(t *testing.T, o object) *corev1.ConfigMap {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.config)
	if err != nil {
		t.Fatal(err)
	}
	cm := &corev1.ConfigMap{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, cm); err != nil {
		t.Fatal(err)
	}
	return cm
}
