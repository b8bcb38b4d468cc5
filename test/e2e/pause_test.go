//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// longCanary returns a rollout that stays with its canary.
func longCanary() *v1alpha2.Rollout {
	return &v1alpha2.Rollout{Canary: &v1alpha2.Canary{DurationSeconds: new(int32(3600))}}
}

// waitPaused waits until a rollout is paused, and fails the test if another pass of the operator changes the pods.
func waitPaused(t *testing.T, nginx *v1alpha2.NginxOperator, message, mark string) {
	t.Helper()
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonRolloutPaused, message)
	pods := podUIDs(t, nginx)
	passOver(t, nginx, mark)
	waitServing(t, nginx, pods)
	if now := podUIDs(t, nginx); fmt.Sprint(now) != fmt.Sprint(pods) {
		t.Errorf("the rollout is paused, and the pods change from %v to %v", pods, now)
	}
}

// TestPausedRollout: rollouts of pods and of configurations stay where they are during a pause, or do not begin, without a failed
// request. They continue, or return, after it.
func TestPausedRollout(t *testing.T) {
	t.Parallel()
	spec := saying("hello", 2)
	spec.Image, spec.Rollout = new(oldestImage()), longCanary()
	nginx := createReady(t, newNamespace(t), "web", spec)
	traffic := startTraffic(t, nginx, "hello")
	pods := podUIDs(t, nginx)

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(newestImage()) })
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonCanaryRunning)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Rollout.Paused = new(true) })
	waitPaused(t, nginx, "1 of 2 pods are up to date, and 2 pods of earlier revisions serve", "canary")
	if !deploymentOf(t, nginx).Spec.Paused {
		t.Error("the Deployment is not paused")
	}

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(oldestImage()) })
	waitReady(t, nginx)
	waitOnly(t, nginx, pods)

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(newestImage()) })
	waitPaused(t, nginx, "has not begun, because rollout.paused is set", "before")
	waitOnly(t, nginx, pods)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Rollout = nil })
	waitReady(t, nginx)
	if nginx.Status.Image != newestImage() {
		t.Errorf("the status has image %s", nginx.Status.Image)
	}

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Rollout, s.Config = longCanary(), answering("") })
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonCanaryRunning)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Rollout.Paused = new(true) })
	waitPaused(t, nginx, "1 of 2 pods serve configuration", "configuration")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Rollout = nil })
	waitReady(t, nginx)
	traffic.stop(t)
}
