package api

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/part"
)

const gate = "backup"

func gatedSpec(image string) v1alpha2.NginxOperatorSpec {
	spec := rolledSpec(image)
	spec.Rollout = &v1alpha2.Rollout{Gates: []string{gate}}
	return spec
}

// waitWaiting waits until a rollout waits for the gate.
func (r *rolled) waitWaiting() {
	r.t.Helper()
	waitCondition(r.t, r.nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonWaitingForGate)
	waitCondition(r.t, r.nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonMinimumReplicasAvailable)
	if w := r.nginx.Status.WaitingRollout; w == nil || len(w.Gates) != 1 || w.Gates[0] != gate || w.Since.IsZero() {
		r.t.Fatalf("status.waitingRollout is %+v", w)
	}
}

// open opens the gate for the rollout that was waiting at the last read.
func (r *rolled) open() {
	r.t.Helper()
	waiting := r.nginx.Status.WaitingRollout
	if waiting == nil {
		return
	}
	opened := r.nginx.DeepCopy()
	metav1.SetMetaDataAnnotation(&opened.ObjectMeta, v1alpha2.AnnotationGatePrefix+gate, waiting.Revision)
	must(r.t, kube.Patch(r.t.Context(), opened, client.MergeFrom(r.nginx)))
}

// TestRolloutWaitsForItsGate: a rollout of pods and configuration waits until its gate opens.
func TestRolloutWaitsForItsGate(t *testing.T) {
	r := newRolled(t, gatedSpec("nginx:1"))
	r.prepare()
	r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image, s.Config = new("nginx:2"), inline("second") })
	r.waitWaiting()
	settled(t)
	if code, output, failure := kubectlNginx(t, "config", "diff", r.nginx.Name, "--from=stable", "-n", r.nginx.Namespace); code != 0 || !strings.Contains(output, "+second") {
		t.Errorf("config diff does not show what waits: exit code %d, %s%s", code, output, failure)
	}
	since := r.nginx.Status.WaitingRollout.Since

	// A new operator finds the rollout waiting and has nothing to write.
	replaceOperator(startOperator)
	settled(t)
	if writes := running.writtenIn(r.nginx.Namespace); len(writes) > 0 {
		t.Errorf("a restarted operator writes while a rollout waits: %q", writes)
	}
	r.waitWaiting()
	if now := r.nginx.Status.WaitingRollout.Since; !now.Equal(&since) {
		t.Errorf("it waits since %s, and before since %s", now, since)
	}
	r.checkTemplates("nginx:1")
	stable := r.nginx.Status.Config.StableRevision
	if err := same(stable, revisionOf("first")); err != nil {
		t.Errorf("pods start with another configuration: %v", err)
	}

	r.open()
	r.waitReady()
	r.checkRolledOut("nginx:2", "nginx:1")
	if r.nginx.Status.WaitingRollout != nil || r.nginx.Status.Config.StableRevision != revisionOf("second") {
		t.Errorf("status: %+v, configuration %+v", r.nginx.Status.WaitingRollout, r.nginx.Status.Config)
	}
	settled(t)
}

// TestGateKilledAtEachWrite: a rollout waits and its gate is opened correctly if the operator is
// killed at its k-th write, for every k.
func TestGateKilledAtEachWrite(t *testing.T) {
	for name, sent := range map[string]bool{"before it is sent": false, "after it was carried out": true} {
		t.Run(name, func(t *testing.T) {
			r := newRolled(t, gatedSpec("nginx:0"))
			for k := range part.Selected().Positions() {
				old := r.prepare()
				image := fmt.Sprintf("nginx:%d", k)
				opening := func() bool { r.open(); return r.isReady() }
				killed := r.killedAt(k, sent, image, opening)
				eventually(t, image+" is rolled out", func() error {
					must(t, get(t, r.nginx))
					if r.nginx.Status.ObservedGeneration != r.nginx.Generation || !opening() {
						return fmt.Errorf("waiting: %+v", r.nginx.Status.WaitingRollout)
					}
					return nil
				})
				r.checkRolledOut(image, old)
				if !killed {
					t.Logf("a rollout with a gate takes fewer than %d writes", k)
					return
				}
			}
		})
	}
}
