package desired

import (
	"testing"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/revision"
)

func (p *simulation) pause(paused bool) {
	if p.nginx.Spec.Rollout == nil {
		p.nginx.Spec.Rollout = &v1alpha2.Rollout{}
	}
	p.nginx.Spec.Rollout.Paused = &paused
}

// updated returns how many pods are of the template of the workload, and how many of others.
func (p *simulation) updated() (updated, others int) {
	updated = p.count(p.template().Annotations[naming.AnnotationTemplate])
	return updated, len(p.pods) - updated
}

// waitLonger lets more time pass than any deadline allows.
func (p *simulation) waitLonger() {
	p.t.Helper()
	p.now = p.now.Add(time.Hour)
	p.settle()
}

// TestPausedBeforeRollout: a rollout begins when the pause ends.
func TestPausedBeforeRollout(t *testing.T) {
	p := newSimulation(t)
	p.pause(true)
	p.settle()
	if p.plan.Mode != revision.Normal {
		t.Errorf("without a change, the mode is %s", p.plan.Mode)
	}
	p.nginx.Spec.Image = new("nginx:2")
	p.waitLonger()
	p.expect("nginx:1", "1 good nginx:1")
	if p.plan.Waiting == nil || !p.plan.Waiting.Paused || len(p.plan.Waiting.Gates) != 0 {
		t.Errorf("the rollout waits for %+v", p.plan.Waiting)
	}
	p.pause(false)
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
}

// TestPausedRollout: at each stage, the pods stay as they are, no deadline runs, and the rollout continues after the pause.
func TestPausedRollout(t *testing.T) {
	for stage, declared := range map[history.Stage]v1alpha2.Rollout{
		history.Proving: {},
		history.Canary:  {Canary: &v1alpha2.Canary{DurationSeconds: new(int32(10)), OnNoEvidence: new(v1alpha2.OnNoEvidenceFail)}},
		history.Rolling: {},
	} {
		t.Run(string(stage), func(t *testing.T) {
			p := newSimulation(t)
			p.nginx.Spec.Rollout = &declared
			p.nginx.Spec.Replicas = new(int32(4))
			p.settle()
			p.nginx.Spec.Image = new("nginx:2")
			for p.tick(); p.plan.Step.Stage != stage; p.tick() {
			}
			p.pause(true)
			p.tick()
			updated, others := p.updated()
			p.waitLonger()
			if now, left := p.updated(); now != updated || left != others {
				t.Errorf("%d pods were updated and %d not; after the pause, %d are and %d are not", updated, others, now, left)
			}
			if p.plan.Step.Stage != stage || !p.deployment().Spec.Paused {
				t.Errorf("stage %s, paused %v", p.plan.Step.Stage, p.deployment().Spec.Paused)
			}
			p.pause(false)
			p.settle()
			p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
			if r := p.state().History.Numbered(2); r.Paused {
				t.Error("the history still says that the rollout is paused")
			}
		})
	}
}

// withPausedCanary returns an application whose rollout was paused right after its canary began.
func withPausedCanary(t *testing.T, seconds int32) *simulation {
	p := newSimulation(t)
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{Canary: &v1alpha2.Canary{DurationSeconds: &seconds}}
	p.settle()
	p.nginx.Spec.Image = new("nginx:2")
	p.tick()
	p.pause(true)
	return p
}

// TestPausedCanaryNeedsItsTime: a canary that is resumed is compared for its whole time.
func TestPausedCanaryNeedsItsTime(t *testing.T) {
	p := withPausedCanary(t, 20)
	p.waitLonger()
	p.pause(false)
	for range 15 {
		p.tick()
	}
	if p.plan.Step.Stage != history.Canary {
		t.Errorf("15 of 20 seconds after the pause, the stage is %s", p.plan.Step.Stage)
	}
}

// TestPausedCanaryIsPromoted: a promotion during a pause takes effect when the rollout is resumed.
func TestPausedCanaryIsPromoted(t *testing.T) {
	p := withPausedCanary(t, 3600)
	p.tick()
	p.nginx.Annotations = map[string]string{v1alpha2.AnnotationPromote: "2"}
	p.waitLonger()
	if p.plan.Step.Stage != history.Canary {
		t.Errorf("during the pause, the stage is %s", p.plan.Step.Stage)
	}
	p.pause(false)
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
}

// TestPausedRolloutFails: a pause does not keep what harms.
func TestPausedRolloutFails(t *testing.T) {
	crash := func(p *simulation) { p.bad["nginx:2"] = true }
	for name, tt := range map[string]struct {
		before, during func(*simulation)
	}{
		"its pods crash":         {before: crash},
		"its canary gets worse":  {during: func(p *simulation) { p.verdict = "5xx" }},
		"its canary has a crash": {during: func(p *simulation) { crash(p); p.pods = p.pods[:2]; p.pods = append(p.pods, p.newPod(p.deployment())) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSimulation(t)
			p.nginx.Spec.Rollout = &v1alpha2.Rollout{Canary: &v1alpha2.Canary{DurationSeconds: new(int32(600))}}
			p.settle()
			if tt.before != nil {
				tt.before(p)
			}
			p.nginx.Spec.Image = new("nginx:2")
			p.tick()
			p.pause(true)
			p.tick()
			if tt.during != nil {
				tt.during(p)
			}
			p.settle()
			p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
			p.pause(false)
			p.settle()
			p.expect("nginx:1", "1 good nginx:1, 2 failed nginx:2")
		})
	}
}

// TestPausedAndChangedAgain: another change during a pause neither runs nor lets the one that is paused continue, whose number of
// pods still follows the spec.
func TestPausedAndChangedAgain(t *testing.T) {
	p := newSimulation(t)
	p.nginx.Spec.Replicas = new(int32(4))
	p.settle()
	p.nginx.Spec.Image, p.nginx.Spec.Config = new("nginx:2"), config("# 2")
	for p.tick(); p.plan.Step.Stage != history.Rolling; p.tick() {
	}
	p.pause(true)
	p.tick()
	updated, others := p.updated()
	p.nginx.Spec.Image, p.nginx.Spec.Config = new("nginx:3"), config("# 3")
	p.waitLonger()
	if now, left := p.updated(); p.image() != "nginx:2" || now != updated || left != others {
		t.Errorf("it runs %s: %d pods were updated and %d not; now %d and %d", p.image(), updated, others, now, left)
	}
	p.nginx.Spec.Replicas = new(int32(6))
	p.settle()
	if replicas, candidate := *p.deployment().Spec.Replicas, p.file("web-config-next"); replicas != 6 || candidate != "# 2" {
		t.Errorf("during the pause, %d pods are wanted in place of 6, and the candidate is %q", replicas, candidate)
	}
	p.pause(false)
	p.settle()
	if p.image() != "nginx:3" {
		t.Errorf("after the pause it runs %s", p.image())
	}
}

// TestPausedAndWithdrawn: a return to the last good revision does not wait for the end of the pause.
func TestPausedAndWithdrawn(t *testing.T) {
	for name, withdraw := range map[string]func(*v1alpha2.NginxOperatorSpec){
		"by the spec":       func(spec *v1alpha2.NginxOperatorSpec) { spec.Image = new("nginx:1") },
		"by its toRevision": func(spec *v1alpha2.NginxOperatorSpec) { spec.Rollout.ToRevision = new(int64(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newSimulation(t)
			p.nginx.Spec.Replicas = new(int32(4))
			p.settle()
			p.nginx.Spec.Image = new("nginx:2")
			for p.tick(); p.plan.Step.Stage != history.Rolling; p.tick() {
			}
			p.pause(true)
			p.settle()
			withdraw(&p.nginx.Spec)
			p.settle()
			if _, others := p.updated(); p.image() != "nginx:1" || others != 0 || p.deployment().Spec.Paused {
				t.Errorf("it runs %s, %d pods are of another template, paused %v", p.image(), others, p.deployment().Spec.Paused)
			}
		})
	}
}

// TestPausedOnceIsNotPausedAgain: a good revision whose rollout was withdrawn during a pause begins without one when it is
// requested again.
func TestPausedOnceIsNotPausedAgain(t *testing.T) {
	p := newSimulation(t)
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.nginx.Spec.Image = new("nginx:1")
	p.tick()
	p.pause(true)
	p.settle()
	p.nginx.Spec.Image = new("nginx:2")
	p.settle()
	p.nginx.Spec.Rollout = nil
	p.nginx.Spec.Image = new("nginx:1")
	p.tick()
	if p.plan.Began == nil || p.plan.Began.Paused {
		t.Errorf("it begins as %+v", p.plan.Began)
	}
}

// TestFirstRolloutIsNotPaused: an application that is created with a pause serves.
func TestFirstRolloutIsNotPaused(t *testing.T) {
	p := emptySimulation(t)
	p.pause(true)
	p.settle()
	p.expect("nginx:1", "1 good nginx:1")
}

// TestStatefulPaused: pods keep their templates during a pause, those that are created again as well.
func TestStatefulPaused(t *testing.T) {
	p := newStatefulSimulation(t, 4)
	p.nginx.Spec.Image = new("nginx:2")
	for updated := 0; updated < 2; updated, _ = p.updated() {
		p.tick()
	}
	p.pause(true)
	p.waitLonger()
	if updated, _ := p.updated(); updated != 2 || *p.statefulSet().Spec.UpdateStrategy.RollingUpdate.Partition != 2 {
		t.Errorf("%d of 2 pods are updated, and the partition is %d", updated, *p.statefulSet().Spec.UpdateStrategy.RollingUpdate.Partition)
	}
	p.pause(false)
	p.settle()
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
}
