package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// gated is an application whose rollouts wait, and that runs nginx:1.
func gated(t *testing.T, gates ...string) *play {
	p := newPlay(t)
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{Gates: gates}
	return p
}

// open lets what waits pass a gate.
func (p *play) open(gate string) {
	p.t.Helper()
	if p.plan.Waiting == nil {
		p.t.Fatal("nothing waits")
	}
	if p.nginx.Annotations == nil {
		p.nginx.Annotations = map[string]string{}
	}
	p.nginx.Annotations[v1alpha2.AnnotationGatePrefix+gate] = p.plan.Waiting.Revision
}

// waits fails unless a rollout waits for these gates.
func (p *play) waits(gates ...string) {
	p.t.Helper()
	var closed []string
	if p.plan.Waiting != nil {
		closed = p.plan.Waiting.Gates
	}
	if diff := cmp.Diff(gates, closed); diff != "" {
		p.t.Errorf("-gates that are to be closed +those that are:\n%s", diff)
	}
}

func (p *play) file(configMap string) string {
	return p.owned[observe.Key{Kind: "ConfigMap", Name: configMap}].(*corev1.ConfigMap).Data["a.conf"]
}

func config(text v1alpha2.ConfigFile) *v1alpha2.Config {
	return &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": text}}
}

func TestRolloutWaitsForEveryGate(t *testing.T) {
	p := gated(t, "backup", "approval")
	p.settle()
	p.waits()
	pods := p.made
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.waits("backup", "approval")
	p.expect("nginx:1", "1 good nginx:1")
	p.open("backup")
	p.settle()
	p.waits("approval")
	p.nginx.Spec.Replicas = new(int32(3))
	p.settle()
	p.expect("nginx:1", "1 good nginx:1")
	if p.made != pods+1 {
		t.Errorf("while a rollout waits, %d pods were made instead of the one that was asked for", p.made-pods)
	}
	p.open("approval")
	p.settle()
	p.waits()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
}

func TestFirstRolloutWaitsForNothing(t *testing.T) {
	p := gated(t, "backup")
	clear(p.records)
	clear(p.owned)
	p.pods = nil
	p.settle()
	p.waits()
	p.expect("nginx:1", "1 good nginx:1")
}

// TestConfigurationWaits: neither what pods start with nor the candidate changes, and no pod is
// asked for anything.
func TestConfigurationWaits(t *testing.T) {
	p := gated(t, "backup")
	p.nginx.Spec.Rollout.Gates = nil
	p.nginx.Spec.Config = config("# 1")
	p.settle()
	p.nginx.Spec.Rollout.Gates = []string{"backup"}
	p.nginx.Spec.Config = config("# 2")
	p.settle()
	p.waits("backup")
	if !p.plan.Waiting.Config || p.file("web-config") != "# 1" || p.file("web-config-next") != "# 1" || len(p.plan.Asks)+len(p.plan.Tells) > 0 {
		t.Errorf("pods start with %q, the candidate is %q, %d pods are asked", p.file("web-config"), p.file("web-config-next"), len(p.plan.Asks))
	}
	p.open("backup")
	p.settle()
	p.waits()
	if p.file("web-config") != "# 2" {
		t.Errorf("pods start with %q", p.file("web-config"))
	}
}

func TestWhatIsAskedForAgainWaitsForNothing(t *testing.T) {
	p := gated(t, "backup")
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.waits("backup")
	p.nginx.Spec.Image = new("nginx:1")
	p.settle()
	p.waits()
	p.expect("nginx:1", "1 good nginx:1")
}

// TestAnOpeningIsForOneRevision: what is asked for next has to wait again.
func TestAnOpeningIsForOneRevision(t *testing.T) {
	p := gated(t, "backup")
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.open("backup")
	p.nginx.Spec.Image = new("nginx:3")
	p.settle()
	p.waits("backup")
	p.open("backup")
	p.settle()
	p.nginx.Spec.Rollout.ToRevision = new(int64(1))
	p.settle()
	p.waits("backup")
	p.expect("nginx:3", "1 good nginx:1, 2 good nginx:3")
	p.open("backup")
	p.settle()
	p.expect("nginx:1", "1 good nginx:1, 2 good nginx:3")
}

// TestWhatHasBegunGoesOn closes gates while pods are being replaced, and asks for something
// else, which then waits.
func TestWhatHasBegunGoesOn(t *testing.T) {
	p := gated(t, "backup")
	p.nginx.Spec.Replicas = new(int32(4))
	p.settle()
	p.nginx.Spec.Image, p.nginx.Spec.Config = new("nginx:2"), config("# 2")
	p.tick()
	p.open("backup")
	p.rollTo("nginx:2")
	p.nginx.Annotations = nil
	p.nginx.Spec.Rollout.Gates = []string{"backup", "approval"}
	p.tick()
	p.waits()
	p.nginx.Spec.Image, p.nginx.Spec.Config = new("nginx:3"), config("# 3")
	p.settle()
	p.waits("backup", "approval")
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
	if p.file("web-config") != "# 2" {
		t.Errorf("pods start with %q", p.file("web-config"))
	}
}

// rollTo ticks until pods of the last good template are being taken away for those of another.
func (p *play) rollTo(image string) {
	p.t.Helper()
	for range 60 {
		p.tick()
		for _, r := range p.state().History {
			if r.Image == image && r.Stage == history.Rolling {
				return
			}
		}
	}
	p.t.Fatalf("pods of %s prove themselves for ever", image)
}

// TestGoingBackWaitsForNothing: a rollout fails that its gates had let through, and another one
// that is asked for meanwhile waits until what was good runs again.
func TestGoingBackWaitsForNothing(t *testing.T) {
	p := gated(t, "backup")
	p.bad["nginx:2"] = true
	p.nginx.Spec.Image = new("nginx:2")
	p.tick()
	p.open("backup")
	p.settle()
	p.waits()
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
	// The same attempt: gates are no part of it.
	p.nginx.Spec.Rollout.Gates = []string{"backup", "approval"}
	p.settle()
	p.waits()
	if p.plan.Failure == nil {
		t.Error("another gate lets what has failed be tried again")
	}
	p.nginx.Spec.Image = new("nginx:3")
	p.settle()
	p.waits("backup", "approval")
	p.expect("nginx:1", "1 good nginx:1")
}

// TestACorrectionWaits: the canaries of what was replaced by a correction go, and then that waits.
func TestACorrectionWaits(t *testing.T) {
	p := gated(t, "backup")
	p.bad["nginx:2"] = true
	p.nginx.Spec.Image = new("nginx:2")
	p.tick()
	p.open("backup")
	p.tick()
	p.nginx.Spec.Image = new("nginx:3")
	p.settle()
	p.waits("backup")
	p.expect("nginx:1", "1 good nginx:1")
	for i := range p.pods {
		if template := observe.TemplateOf(&p.pods[i]); template != p.deployment().Spec.Template.Annotations[naming.AnnotationTemplate] {
			t.Errorf("pod %s of another template is still there", p.pods[i].Name)
		}
	}
}

// TestARenewalWaits: the template of another release is a rollout like any other.
func TestARenewalWaits(t *testing.T) {
	p := gated(t, "backup")
	p.settle()
	p.options.InstanceImage = "registry.example.com/nginx-operator:next"
	p.settle()
	p.waits()
	state := p.state()
	state.Renew = true
	plan, _, err := Build(p.nginx, state, p.options)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Waiting == nil || plan.Template != p.plan.Template {
		t.Errorf("the pods are renewed at once: %+v", plan.Waiting)
	}
}
