package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// gated returns an application that runs nginx:1 and whose rollouts wait for gates.
func gated(t *testing.T, gates ...string) *simulation {
	p := newSimulation(t)
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{Gates: gates}
	return p
}

// open opens a gate for the waiting revision.
func (p *simulation) open(gate string) {
	p.t.Helper()
	if p.plan.Waiting == nil {
		p.t.Fatal("nothing waits")
	}
	if p.nginx.Annotations == nil {
		p.nginx.Annotations = map[string]string{}
	}
	p.nginx.Annotations[v1alpha2.AnnotationGatePrefix+gate] = p.plan.Waiting.Revision
}

// waits fails the test unless a rollout waits for these gates.
func (p *simulation) waits(gates ...string) {
	p.t.Helper()
	var closed []string
	if p.plan.Waiting != nil {
		closed = p.plan.Waiting.Gates
	}
	if diff := cmp.Diff(gates, closed); diff != "" {
		p.t.Errorf("-gates that are to be closed +those that are:\n%s", diff)
	}
}

func (p *simulation) file(configMap string) string {
	return p.owned[owned.Key{Kind: "ConfigMap", Name: configMap}].(*corev1.ConfigMap).Data["a.conf"]
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

func TestFirstRolloutDoesNotWait(t *testing.T) {
	p := gated(t, "backup")
	clear(p.records)
	clear(p.owned)
	p.pods = nil
	p.settle()
	p.waits()
	p.expect("nginx:1", "1 good nginx:1")
}

// TestConfigurationWaits: while a configuration waits, the stable configuration and the candidate
// stay the same, and pods get no request.
func TestConfigurationWaits(t *testing.T) {
	p := gated(t, "backup")
	p.nginx.Spec.Rollout.Gates = nil
	p.nginx.Spec.Config = config("# 1")
	p.settle()
	p.nginx.Spec.Rollout.Gates = []string{"backup"}
	p.nginx.Spec.Config = config("# 2")
	p.settle()
	p.waits("backup")
	if !p.plan.Waiting.NewConfig || p.file("web-config") != "# 1" || p.file("web-config-next") != "# 1" || len(p.plan.PodAnnotations)+len(p.plan.Orders) > 0 {
		t.Errorf("pods start with %q, the candidate is %q, %d pods are asked", p.file("web-config"), p.file("web-config-next"), len(p.plan.PodAnnotations))
	}
	p.open("backup")
	p.settle()
	p.waits()
	if p.file("web-config") != "# 2" {
		t.Errorf("pods start with %q", p.file("web-config"))
	}
}

func TestRepeatedRequestDoesNotWait(t *testing.T) {
	p := gated(t, "backup")
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.waits("backup")
	p.nginx.Spec.Image = new("nginx:1")
	p.settle()
	p.waits()
	p.expect("nginx:1", "1 good nginx:1")
}

// TestAnOpeningIsForOneRevision: the next requested revision has to wait again.
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

// TestStartedRolloutContinues: closing gates while pods are being replaced does not stop the rollout.
// Another request then waits.
func TestStartedRolloutContinues(t *testing.T) {
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

// rollTo ticks until pods of the last good template are being replaced by those of another.
func (p *simulation) rollTo(image string) {
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

// TestRollbackDoesNotWait: no gate delays the rollback of a failed rollout. A request that is
// made meanwhile waits until the good revision runs again.
func TestRollbackDoesNotWait(t *testing.T) {
	p := gated(t, "backup")
	p.bad["nginx:2"] = true
	p.nginx.Spec.Image = new("nginx:2")
	p.tick()
	p.open("backup")
	p.settle()
	p.waits()
	p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
	// This is the same attempt, since gates are not part of it.
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

// TestACorrectionWaits: when a correction replaces a rollout, the canaries of that rollout are
// removed, and then the correction waits.
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
	in := p.input()
	in.Renew = true
	plan, _, err := planFor(in)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Waiting == nil || plan.Run.Hash != p.plan.Run.Hash {
		t.Errorf("the pods are renewed at once: %+v", plan.Waiting)
	}
}

// TestRolloutWaitsForOthers: while an application waits for another one, neither its template nor its configuration
// changes, what has begun goes on, and lost pods are replaced.
func TestRolloutWaitsForOthers(t *testing.T) {
	p := newStatefulSimulation(t, 3)
	p.nginx.Spec.Config = config("# 1")
	p.settle()
	p.waitsFor = "it waits for others"
	p.nginx.Spec.Image, p.nginx.Spec.Config = new("nginx:2"), config("# 2")
	p.settle()
	if p.image() != "nginx:1" || p.file("web-config-next") != "# 1" || p.plan.Waiting == nil || p.plan.Waiting.Waits != p.waitsFor {
		t.Errorf("%s with %q runs, and waits: %+v", p.image(), p.file("web-config-next"), p.plan.Waiting)
	}
	p.pods = p.pods[:1]
	p.settle()
	if len(p.pods) != 3 || p.image() != "nginx:1" {
		t.Errorf("%d pods run %s", len(p.pods), p.image())
	}
	p.waitsFor = ""
	p.tick()
	p.tick()
	p.waitsFor = "it waits for others"
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:1, 3 good nginx:2")
	if p.file("web-config") != "# 2" {
		t.Errorf("pods start with %q", p.file("web-config"))
	}
}
