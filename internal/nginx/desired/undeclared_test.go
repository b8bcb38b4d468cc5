package desired

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

func mounted(volume string) *v1alpha2.PodTemplate {
	return &v1alpha2.PodTemplate{
		Volumes:      []v1alpha2.Volume{{Name: "data", EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		VolumeMounts: []v1alpha2.VolumeMount{{Name: volume, MountPath: "/srv/x"}},
	}
}

// TestUndeclaredVolumeStopsChanges: a stored spec that mounts a volume of the operator changes nothing, until it is corrected.
func TestUndeclaredVolumeStopsChanges(t *testing.T) {
	p := newSimulation(t)
	made, log := p.made, p.log()
	p.nginx.Spec.Image = new("nginx:2")
	p.nginx.Spec.PodTemplate = mounted(naming.VolumeInstance)
	p.settle()
	if p.blocked.Reason != v1alpha2.ReasonInvalidSpec || !strings.Contains(p.blocked.Message, "spec.podTemplate.volumeMounts[/srv/x] names the volume instance") {
		t.Errorf("blocked = %+v", p.blocked)
	}
	if p.made != made || p.log() != log {
		t.Errorf("%d pods were made, history: %s, before %s", p.made-made, p.log(), log)
	}
	p.nginx.Spec.PodTemplate = mounted("data")
	p.settle()
	if p.blocked.Reason != "" {
		t.Errorf("blocked = %+v", p.blocked)
	}
	p.expect("nginx:2", "1 good nginx:1, 2 good nginx:2")
}

// TestUndeclaredVolumeOfANewApplication: without a history, the pods run without the mount.
func TestUndeclaredVolumeOfANewApplication(t *testing.T) {
	p := emptySimulation(t)
	p.nginx.Spec.PodTemplate = mounted(naming.VolumeInstance)
	p.settle()
	if p.blocked.Reason != v1alpha2.ReasonInvalidSpec {
		t.Errorf("blocked = %+v", p.blocked)
	}
	if mounts(p) > 0 {
		t.Error("a container of a user has the operator's volume")
	}
}

// TestUndeclaredVolumeOfTheHistory: a revision that an earlier release recorded with such a mount keeps running, and cannot be
// requested again.
func TestUndeclaredVolumeOfTheHistory(t *testing.T) {
	p := emptySimulation(t)
	p.nginx.Spec.PodTemplate = mounted("data")
	p.settle()
	for name, r := range p.records {
		r.Data.Raw = bytes.ReplaceAll(r.Data.Raw, []byte(`"name":"data","mountPath"`), []byte(`"name":"instance","mountPath"`))
		p.records[name] = r
	}
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{ToRevision: new(int64(1))}
	made := p.made
	p.settle()
	if p.blocked.Reason != "" || p.made != made {
		t.Errorf("the running revision: blocked = %+v, %d new pods", p.blocked, p.made-made)
	}
	p.nginx.Spec.Rollout, p.nginx.Spec.PodTemplate = nil, nil
	p.settle()
	p.expect("nginx:1", "1 good nginx:1, 2 good nginx:1")
	p.nginx.Spec.Rollout = &v1alpha2.Rollout{ToRevision: new(int64(1))}
	p.settle()
	if p.blocked.Reason != v1alpha2.ReasonInvalidSpec || !strings.Contains(p.blocked.Message, "rollout.toRevision is 1, in which spec.podTemplate.volumeMounts[/srv/x] names the volume instance") {
		t.Errorf("blocked = %+v", p.blocked)
	}
	if mounts(p) > 0 {
		t.Error("a container of a user has the operator's volume")
	}
}

// mounts counts the mounts that a user asked for.
func mounts(p *simulation) int {
	count := 0
	for _, m := range p.template().Spec.Containers[0].VolumeMounts {
		if m.MountPath == "/srv/x" {
			count++
		}
	}
	return count
}
