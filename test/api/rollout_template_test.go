package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/test/internal/part"
	"example.com/nginx-operator/test/standin/kubelet"
)

const rolledReplicas = 2

func rolledSpec(image string) v1alpha2.NginxOperatorSpec {
	return v1alpha2.NginxOperatorSpec{Image: new(image), Replicas: new(int32(rolledReplicas)), Config: inline("first")}
}

// history reads the history of the application.
func (r *rolled) history() history.History {
	r.t.Helper()
	list := &appsv1.ControllerRevisionList{}
	must(r.t, kube.List(r.t.Context(), list, client.InNamespace(r.nginx.Namespace)))
	return history.Read(list.Items)
}

func TestTemplateIsRolledOut(t *testing.T) {
	r := newRolled(t, rolledSpec("nginx:1"))
	old := r.reset()
	r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:2") })
	r.waitReady()
	r.checkRolledOut("nginx:2", kubelet.Image(&old.Spec))
	settled(t)
}

// TestReadyReportsItsRevision: the first status that reports a new spec as Ready also reports the
// new revision.
func TestReadyReportsItsRevision(t *testing.T) {
	r := newRolled(t, rolledSpec("nginx:1"))
	watching, err := client.NewWithWatch(plane.Config, client.Options{Scheme: kube.Scheme()})
	must(t, err)
	list := &v1alpha2.NginxOperatorList{}
	must(t, watching.List(t.Context(), list, client.InNamespace(r.nginx.Namespace)))
	watcher, err := watching.Watch(t.Context(), list, client.InNamespace(r.nginx.Namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	must(t, err)
	defer watcher.Stop()

	r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:2") })
	for event := range watcher.ResultChan() {
		seen, ok := event.Object.(*v1alpha2.NginxOperator)
		if !ok {
			t.Fatalf("the watch has ended: %v", event.Object)
		}
		ready := meta.FindStatusCondition(seen.Status.Conditions, v1alpha2.ConditionReady)
		if ready.ObservedGeneration < r.nginx.Generation || ready.Status != metav1.ConditionTrue {
			continue
		}
		if seen.Status.Revision != 2 {
			t.Errorf("Ready with revision %d, want 2", seen.Status.Revision)
		}
		return
	}
	t.Error("the watch has ended")
}

func TestFailedTemplateIsRolledBack(t *testing.T) {
	r := newRolled(t, rolledSpec("nginx:1"))
	r.reset()
	r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(kubelet.Crashes + ":2") })
	r.waitRolledBack()
	r.checkRolledBack(kubelet.Crashes+":2", "nginx:1")
	settled(t)
	// The rollout is retried when the spec changes, and the next good one succeeds.
	r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:3") })
	r.waitReady()
	r.checkRolledOut("nginx:3", "nginx:1", kubelet.Crashes+":2", "nginx:1")
	settled(t)
}

func (r *rolled) waitRolledBack() {
	r.t.Helper()
	c := waitCondition(r.t, r.nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonRolledBack)
	if !strings.Contains(c.Message, "it crashes") {
		r.t.Errorf("the message is %q, want the container's message in it", c.Message)
	}
}

// checkTemplates checks that the Deployment has had templates with exactly these images since
// reset, in this order, and that no pod is missing.
func (r *rolled) checkTemplates(images ...string) {
	r.t.Helper()
	last := images[len(images)-1]
	eventually(r.t, "all pods run "+last, func() error {
		template, err := r.pods()
		if err != nil {
			return err
		}
		return same(kubelet.Image(&template.Spec), last)
	})
	var seen []string
	for _, template := range r.sequence() {
		seen = append(seen, kubelet.Image(&template.Spec))
	}
	if diff := cmp.Diff(images, seen); diff != "" {
		r.t.Errorf("the templates of the Deployment, -want +got:\n%s", diff)
	}
	if n := r.fewestReady(); n < rolledReplicas {
		r.t.Errorf("%d pods were ready at one time, %d replicas are promised", n, rolledReplicas)
	}
}

// checkRolledOut checks that an image runs after the others, and that the history contains it.
func (r *rolled) checkRolledOut(image string, before ...string) {
	r.t.Helper()
	r.checkTemplates(append(before, image)...)
	eventually(r.t, image+" is in the history", func() error {
		last := r.history().LastGood("")
		if last == nil || last.Image != image {
			return fmt.Errorf("the last good revision is %+v", last)
		}
		return r.nothingUnderWay()
	})
}

// checkRolledBack checks that one image failed and another one runs, and that the history contains
// the failure.
func (r *rolled) checkRolledBack(failed, image string) {
	r.t.Helper()
	r.checkTemplates(image, failed, image)
	eventually(r.t, failed+" is in the history", func() error {
		h := r.history()
		if last := h.LastGood(""); last == nil || last.Image != image {
			return fmt.Errorf("the last good revision is %+v", last)
		}
		var remembered []string
		for _, revision := range h {
			if revision.State == history.StateFailed {
				remembered = append(remembered, revision.Image+" "+revision.Failure.Reason)
			}
		}
		if err := same(strings.Join(remembered, ", "), failed+" "+v1alpha2.ReasonContainerCrashed); err != nil {
			return fmt.Errorf("what failed: %w", err)
		}
		return r.nothingUnderWay()
	})
}

func (r *rolled) nothingUnderWay() error {
	for _, revision := range r.history() {
		if revision.State == history.StateCandidate || revision.Stage != "" {
			return fmt.Errorf("revision %d is a %s at %q", revision.Number, revision.State, revision.Stage)
		}
	}
	return nil
}

// TestRolloutKilledAtEachWrite: a rollout reaches the right end if the operator is killed at its
// k-th write, for every k, before the write is sent or after it was carried out. The Deployment
// never has a template that was not requested.
func TestRolloutKilledAtEachWrite(t *testing.T) {
	for name, sent := range map[string]bool{"before it is sent": false, "after it was carried out": true} {
		t.Run("one that succeeds/"+name, func(t *testing.T) {
			r := newRolled(t, rolledSpec("nginx:0"))
			for k := range part.Selected().Positions() {
				old := r.prepare()
				image := fmt.Sprintf("nginx:%d", k)
				killed := r.killedAt(k, sent, image, r.isReady)
				r.waitReady()
				r.checkRolledOut(image, old)
				if !killed {
					t.Logf("a rollout takes fewer than %d writes", k)
					return
				}
			}
		})
		t.Run("one that fails/"+name, func(t *testing.T) {
			r := newRolled(t, rolledSpec("nginx:0"))
			for k := range part.Selected().Positions() {
				r.prepare()
				image := fmt.Sprintf("%s:%d", kubelet.Crashes, k)
				killed := r.killedAt(k, sent, image, func() bool {
					c := meta.FindStatusCondition(r.nginx.Status.Conditions, v1alpha2.ConditionUpToDate)
					return c != nil && c.Reason == v1alpha2.ReasonRolledBack
				})
				r.waitRolledBack()
				r.checkRolledBack(image, "nginx:0")
				if !killed {
					t.Logf("a rollout that fails takes fewer than %d writes", k)
					return
				}
			}
		})
	}
}

func (r *rolled) isReady() bool {
	return meta.IsStatusConditionTrue(r.nginx.Status.Conditions, v1alpha2.ConditionReady)
}

// prepare waits until no rollout is in progress, and returns the image that runs.
func (r *rolled) prepare() string {
	r.t.Helper()
	settled(r.t)
	eventually(r.t, "the pods are as the Deployment says", func() error {
		_, err := r.pods()
		return err
	})
	old := r.reset()
	return kubelet.Image(&old.Spec)
}

// killedAt requests an image and kills the operator at its k-th write. The next operator takes
// over. It returns false if everything was over without such a write.
func (r *rolled) killedAt(k int64, sent bool, image string, over func() bool) bool {
	r.t.Helper()
	return r.replacedAt(k, sent, image, over, startOperator)
}

// replacedAt is like killedAt, with a function that starts the next operator.
func (r *rolled) replacedAt(k int64, sent bool, image string, over func() bool, start func() *testOperator) bool {
	r.t.Helper()
	d := &death{at: k, sent: sent}
	running.death.Store(d)
	r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(image) })
	eventually(r.t, "killed or done", func() error {
		if d.happened.Load() {
			return nil
		}
		must(r.t, get(r.t, r.nginx))
		if r.nginx.Status.ObservedGeneration != r.nginx.Generation || !over() {
			return fmt.Errorf("under way")
		}
		return nil
	})
	if !d.happened.Load() {
		settled(r.t)
	}
	if !d.happened.Load() {
		running.death.Store(nil)
		return false
	}
	replaceOperator(start)
	return true
}
