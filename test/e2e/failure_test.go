//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
)

// broken returns a configuration with an error in the second line of its file.
func broken() *v1alpha2.Config {
	return &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{
		"site.conf": "server {\n    nonsense on;\n}\n",
	}}
}

// TestBadImage: with an image that does not exist, the running pods keep serving.
func TestBadImage(t *testing.T) {
	t.Parallel()
	const missing = "localhost/nginx:there-is-no-such-version"
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 2))
	good := nginx.Spec.Image
	pods := podUIDs(t, nginx)
	traffic := startTraffic(t, nginx, "hello")

	image := missing
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = &image })
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonImagePullFailed, missing)
	waitCondition(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonImagePullFailed)
	waitServing(t, nginx, pods)
	if nginx.Status.Image == missing {
		t.Errorf("the status has image %s", missing)
	}

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = good })
	waitReady(t, nginx)
	waitServing(t, nginx, pods)
	traffic.stop(t)
}

// TestBadImageIsSteady: while the kubelet retries to pull an image, the conditions report the
// failure and do not change with each attempt.
func TestBadImageIsSteady(t *testing.T) {
	t.Parallel()
	const missing = "localhost/nginx:there-is-no-such-version"
	spec := saying("", 1)
	spec.Image = new(missing)
	nginx := create(t, newNamespace(t), "web", spec)
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonImagePullFailed)

	var attempts []corev1.ContainerStateWaiting
	message := ""
	eventually(t, "the kubelet has waited and tried again", func() error {
		c := waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonImagePullFailed)
		if message != "" && c.Message != message {
			t.Fatalf("the message changed though nothing did, from %q to %q", message, c.Message)
		}
		message = c.Message
		now := waitingState(t, nginx)
		if n := len(attempts); now != nil && (n == 0 || attempts[n-1].Reason != now.Reason) {
			attempts = append(attempts, *now)
		}
		if len(attempts) < 3 {
			return fmt.Errorf("the container has been: %+v", attempts)
		}
		return nil
	})
	for _, attempt := range attempts {
		if attempt.Reason == "ErrImagePull" && !strings.Contains(message, attempt.Message) {
			t.Errorf("the message %q lacks the container runtime's message: %s", message, attempt.Message)
		}
	}
}

// waitingState returns why the container of the only pod waits, or nil if it does not.
func waitingState(t *testing.T, nginx *v1alpha2.NginxOperator) *corev1.ContainerStateWaiting {
	t.Helper()
	for _, pod := range podsOf(t, nginx) {
		for _, s := range pod.Status.ContainerStatuses {
			return s.State.Waiting
		}
	}
	return nil
}

// waitServing waits for Available and checks that these pods still exist.
func waitServing(t *testing.T, nginx *v1alpha2.NginxOperator, pods map[types.UID]bool) {
	t.Helper()
	waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonMinimumReplicasAvailable)
	now := podUIDs(t, nginx)
	for uid := range pods {
		if !now[uid] {
			t.Errorf("pod %s, which served, is gone", uid)
		}
	}
}

// TestBadConfiguration: a bad configuration is rejected while the good one is served.
func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("good", 2))
	pods := podUIDs(t, nginx)
	traffic := startTraffic(t, nginx, "good")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = broken() })
	waitRejected(t, nginx)
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected)
	waitServing(t, nginx, pods)

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("good again") })
	waitReady(t, nginx)
	traffic.stop(t)
	waitAnswer(t, nginx, "good again")
}

// waitRejected waits until the conditions contain nginx's message about a broken configuration,
// with file and line.
func waitRejected(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	texts := []string{`unknown directive "nonsense"`, "site.conf:2"}
	waitMessage(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, texts...)
	waitMessage(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, texts...)
}

// TestFirstConfigurationBad: if the first configuration is bad, nothing can serve, but the reason
// is reported.
func TestFirstConfigurationBad(t *testing.T) {
	t.Parallel()
	spec := saying("", 1)
	spec.Config = broken()
	nginx := create(t, newNamespace(t), "web", spec)
	waitRejected(t, nginx)
	waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonMinimumReplicasUnavailable)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("good") })
	waitReady(t, nginx)
	waitAnswer(t, nginx, "good")
}

// TestCrashLoopIsSteady: while a pod crashes repeatedly, the conditions report the same failure all
// the time.
func TestCrashLoopIsSteady(t *testing.T) {
	t.Parallel()
	spec := saying("", 1)
	spec.PodTemplate = &v1alpha2.PodTemplate{InitContainers: []v1alpha2.Container{
		{Name: "before", Image: newestImage(), Command: []string{"sh", "-c", "echo license file is missing; exit 3"}},
	}}
	nginx := create(t, newNamespace(t), "web", spec)
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonContainerCrashed, "license file is missing")
	const attempts = 3
	eventually(t, "the container was restarted", func() error {
		must(t, get(t, nginx))
		for _, c := range nginx.Status.Conditions {
			if c.Type == v1alpha2.ConditionUpToDate && c.Reason != v1alpha2.ReasonContainerCrashed {
				t.Fatalf("after %d restarts, %s is %s (%s): %s", nginx.Status.Restarts, c.Type, c.Status, c.Reason, c.Message)
			}
		}
		if nginx.Status.Restarts < attempts {
			return fmt.Errorf("%d of %d times", nginx.Status.Restarts, attempts)
		}
		return nil
	})
	if n := countEvents(t, nginx)[v1alpha2.ReasonContainerCrashed]; n != 1 {
		t.Errorf("%d events %s for one crash loop", n, v1alpha2.ReasonContainerCrashed)
	}
}

// TestQuota: a quota of the namespace that blocks pods is reported.
func TestQuota(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	must(t, kube.Create(t.Context(), quota))
	eventually(t, "the quota is in force", func() error {
		if err := get(t, quota); err != nil {
			return err
		}
		if len(quota.Status.Hard) == 0 {
			return fmt.Errorf("its status is empty")
		}
		return nil
	})
	nginx := create(t, namespace, "web", saying("hello", 2))
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonPodsNotCreated, "exceeded quota: few")
	waitCondition(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonPodsNotCreated)

	update(t, quota, func() { quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("5") })
	waitReady(t, nginx)
	waitAnswer(t, nginx, "hello")
}
