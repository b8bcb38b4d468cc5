//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// patient returns a rollout whose progress deadline is longer than it takes a busy machine to start a container, and shorter
// than a test waits. Other causes are found before.
func patient() *v1alpha2.Rollout {
	return &v1alpha2.Rollout{ProgressDeadlineSeconds: new(int32(120))}
}

// crashing adds a container that prints a text and fails.
func crashing(text string) *v1alpha2.PodTemplate {
	return &v1alpha2.PodTemplate{Containers: []v1alpha2.Container{
		{Name: "helper", Image: newestImage(), Command: []string{"sh", "-c", "echo " + text + " >&2; exit 3"}},
	}}
}

// waitRolledBack waits until the status reports that a rollout failed, for these reasons, and until
// the pods are exactly the previous ones.
func waitRolledBack(t *testing.T, nginx *v1alpha2.NginxOperator, pods map[types.UID]bool, text ...string) {
	t.Helper()
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonRolledBack, text...)
	if meta.IsStatusConditionTrue(nginx.Status.Conditions, v1alpha2.ConditionReady) {
		t.Error("it is Ready although it is not up to date")
	}
	waitOnly(t, nginx, pods)
}

// waitOnly waits until an application has exactly these pods, and all of them serve.
func waitOnly(t *testing.T, nginx *v1alpha2.NginxOperator, pods map[types.UID]bool) {
	t.Helper()
	eventually(t, "only the pods from before are left", func() error {
		if diff := cmp.Diff(pods, podUIDs(t, nginx)); diff != "" {
			return fmt.Errorf("the pods (-before +now):\n%s", diff)
		}
		if d := deploymentOf(t, nginx); d.Spec.Paused || int(d.Status.AvailableReplicas) != len(pods) || d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("the Deployment: paused %t, %+v", d.Spec.Paused, d.Status)
		}
		return nil
	})
}

// readySince returns since when each pod has been ready. The time changes if a pod was not ready
// for a moment.
func readySince(t *testing.T, nginx *v1alpha2.NginxOperator) map[types.UID]string {
	t.Helper()
	since := map[types.UID]string{}
	for _, pod := range podsOf(t, nginx) {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				since[pod.UID] = fmt.Sprintf("%s since %s", c.Status, c.LastTransitionTime.UTC())
			}
		}
	}
	return since
}

// eventNotes returns the notes of an application's events with a reason.
func eventNotes(t *testing.T, nginx *v1alpha2.NginxOperator, reason string) []string {
	t.Helper()
	list := &eventsv1.EventList{}
	must(t, kube.List(t.Context(), list, client.InNamespace(nginx.Namespace)))
	var notes []string
	for _, e := range list.Items {
		if e.Regarding.UID == nginx.UID && e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// TestCrashingRolloutIsRolledBack: if new pods crash, the serving pods stay, even when the application
// is scaled up, until something else is requested.
func TestCrashingRolloutIsRolledBack(t *testing.T) {
	t.Parallel()
	spec := saying("hello", 2)
	spec.Rollout = patient()
	nginx := createReady(t, newNamespace(t), "web", spec)
	pods, since := podUIDs(t, nginx), readySince(t, nginx)
	traffic := startTraffic(t, nginx, "hello")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = crashing("license file is missing") })
	waitRolledBack(t, nginx, pods, v1alpha2.ReasonContainerCrashed, "container helper", "exit code 3", "license file is missing")
	if diff := cmp.Diff(since, readySince(t, nginx)); diff != "" {
		t.Errorf("pods that served were not ready meanwhile (-before +now):\n%s", diff)
	}
	eventually(t, "an event reports it", func() error {
		if notes := eventNotes(t, nginx, v1alpha2.ReasonRolledBack); len(notes) != 1 || !strings.Contains(notes[0], "license file is missing") {
			return fmt.Errorf("events %s: %q", v1alpha2.ReasonRolledBack, notes)
		}
		return nil
	})

	sets := len(replicaSetsOf(t, nginx))
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(3)) })
	eventually(t, "there is one pod more", func() error {
		if d := deploymentOf(t, nginx); d.Status.AvailableReplicas != 3 {
			return fmt.Errorf("%d pods are available", d.Status.AvailableReplicas)
		}
		return nil
	})
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonRolledBack)
	if n := len(replicaSetsOf(t, nginx)); n != sets {
		t.Errorf("there were %d ReplicaSets, and %d after scaling: it was tried again", sets, n)
	}
	pods = podUIDs(t, nginx)

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = crashing("another reason") })
	waitRolledBack(t, nginx, pods, "another reason")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = nil })
	waitReady(t, nginx)
	waitOnly(t, nginx, pods)
	traffic.stop(t)
}

// TestFailedRolloutIsNotRetried: a rolled back revision is not retried when the operator restarts.
func TestFailedRolloutIsNotRetried(t *testing.T) {
	spec := saying("hello", 2)
	spec.Rollout = patient()
	nginx := createReady(t, newNamespace(t), "web", spec)
	pods := podUIDs(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = crashing("license file is missing") })
	waitRolledBack(t, nginx, pods, "license file is missing")

	t.Cleanup(func() { waitOperatorAgain(t) })
	generation, history := deploymentOf(t, nginx).Generation, revisionsOf(t, nginx)
	killOperator(t)
	waitOperator(t, operatorNamespace)
	passOver(t, nginx, "after the restart")
	waitRolledBack(t, nginx, pods, "license file is missing")
	if now := deploymentOf(t, nginx).Generation; now != generation {
		t.Errorf("the Deployment was changed from generation %d to %d", generation, now)
	}
	if diff := cmp.Diff(history, revisionsOf(t, nginx)); diff != "" {
		t.Errorf("the history has changed (-before +after):\n%s", diff)
	}
}

// TestNewVersionRefusesConfiguration: if a new version of nginx no longer knows a directive of the
// configuration, this is found out before any pod is replaced.
func TestNewVersionRefusesConfiguration(t *testing.T) {
	t.Parallel()
	spec := saying("hello", 2)
	spec.Image, spec.Rollout = new(oldestImage()), patient()
	// nginx 1.25.1 removed the directive.
	spec.Config.Files["old.conf"] = "\nssl off;\n"
	nginx := createReady(t, newNamespace(t), "web", spec)
	pods, since := podUIDs(t, nginx), readySince(t, nginx)
	traffic := startTraffic(t, nginx, "hello")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(newestImage()) })
	waitRolledBack(t, nginx, pods, v1alpha2.ReasonConfigRejected, "old.conf:2", `unknown directive "ssl"`)
	if diff := cmp.Diff(since, readySince(t, nginx)); diff != "" {
		t.Errorf("pods that served were not ready meanwhile (-before +now):\n%s", diff)
	}
	if nginx.Status.Image != oldestImage() {
		t.Errorf("the status has image %s", nginx.Status.Image)
	}

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { delete(s.Config.Files, "old.conf") })
	waitReady(t, nginx)
	if nginx.Status.Image != newestImage() {
		t.Errorf("the status has image %s", nginx.Status.Image)
	}
	traffic.stop(t)
}

// TestHold: a failed rollout is left as it is, so that a user can examine it.
func TestHold(t *testing.T) {
	t.Parallel()
	spec := saying("hello", 2)
	spec.Rollout = patient()
	spec.Rollout.OnFailure = v1alpha2.OnFailureHold
	nginx := createReady(t, newNamespace(t), "web", spec)
	pods := podUIDs(t, nginx)
	traffic := startTraffic(t, nginx, "hello")
	hold := func(text string) {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = crashing(text) })
		waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonRolloutHeld, v1alpha2.ReasonContainerCrashed, text)
		eventually(t, "the Deployment is paused, with the pod that fails", func() error {
			if d, now := deploymentOf(t, nginx), podUIDs(t, nginx); !d.Spec.Paused || len(now) != len(pods)+1 {
				return fmt.Errorf("paused: %t, %d pods", d.Spec.Paused, len(now))
			}
			return nil
		})
		waitServing(t, nginx, pods)
	}
	hold("license file is missing")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = nil })
	waitReady(t, nginx)
	waitOnly(t, nginx, pods)

	hold("once more")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Rollout.OnFailure = v1alpha2.OnFailureRollback })
	waitRolledBack(t, nginx, pods, "once more")
	traffic.stop(t)
}

// TestCanaryKeepsServing: canaries, both new pods and a new configuration, serve for a while before the
// others follow.
func TestCanaryKeepsServing(t *testing.T) {
	t.Parallel()
	spec := saying("hello", 2)
	spec.Image, spec.Rollout = new(oldestImage()), shortCanary()
	nginx := createReady(t, newNamespace(t), "web", spec)
	pods := podUIDs(t, nginx)
	traffic := startTraffic(t, nginx, "hello")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = new(newestImage()) })
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonCanaryRunning)
	waitServing(t, nginx, pods)
	waitReady(t, nginx)
	if nginx.Status.Image != newestImage() {
		t.Errorf("the status has image %s", nginx.Status.Image)
	}

	pods = podUIDs(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says("hello again") })
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonCanaryRunning)
	waitReady(t, nginx)
	waitOnly(t, nginx, pods)
	traffic.stop(t)
	for range 10 {
		waitAnswer(t, nginx, "hello again")
	}
}

func shortCanary() *v1alpha2.Rollout {
	return &v1alpha2.Rollout{ProgressDeadlineSeconds: new(int32(120)), Canary: &v1alpha2.Canary{DurationSeconds: new(int32(5))}}
}

// answering returns a configuration with a statement before the response.
func answering(statement string) *v1alpha2.Config {
	return filesConfig(map[string]string{
		"site.conf": fmt.Sprintf("server {\n    listen %d;\n    location / {\n        %s\n        return 200 hello;\n    }\n}\n", httpPort, statement),
	})
}

// TestBadCanaryIsRolledBack: pods that respond with errors are rolled back, and so is such a
// configuration.
func TestBadCanaryIsRolledBack(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	must(t, kube.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "flaw"}, Data: map[string]string{"there": ""},
	}))
	spec := saying("", 2)
	spec.Rollout = shortCanary()
	// Only the canary analysis is to find the errors.
	spec.Rollout.FirstAnswers = new(v1alpha2.FirstAnswersIgnore)
	// This is long enough for twenty requests on a busy machine. A bad canary ends earlier.
	spec.Rollout.Canary.DurationSeconds = new(int32(60))
	const flawed = "if (-f /srv/flaw/there) { return 503; }"
	spec.Config = answering(flawed)
	nginx := createReady(t, namespace, "web", spec)
	pods, before := podUIDs(t, nginx), stableFiles(t, nginx)
	traffic := startTraffic(t, nginx, "hello")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Content = []v1alpha2.Content{{MountPath: "/srv/flaw", ConfigMap: &v1alpha2.ConfigMapReference{Name: "flaw"}}}
	})
	waitRolledBack(t, nginx, pods, v1alpha2.ReasonCanaryFailed, "5xx")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Content = nil
		s.Config = answering("return 503;")
	})
	waitRolledBack(t, nginx, pods, v1alpha2.ReasonCanaryFailed, "5xx")
	eventually(t, "every pod serves the last good configuration", func() error {
		if err := get(t, nginx); err != nil {
			return err
		}
		if c := nginx.Status.Config; c == nil || c.LoadedReplicas != 2 {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
	if diff := cmp.Diff(before, stableFiles(t, nginx)); diff != "" {
		t.Errorf("what pods start with has changed (-before +now):\n%s", diff)
	}
	// The bad canaries have answered some requests.
	traffic.cancel()
	<-traffic.done
	// A replaced worker answers once more on a kept connection.
	eventually(t, "no response is of the bad configuration any more", func() error {
		for range 20 {
			if body, err := fetch(t.Context(), nginx); err != nil || !strings.Contains(body, "hello") {
				return fmt.Errorf("the answer is %q: %w", body, err)
			}
		}
		return nil
	})
	good := startTraffic(t, nginx, "hello")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = answering(flawed) })
	waitReady(t, nginx)
	waitOnly(t, nginx, pods)
	good.stop(t)
	if c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionUpToDate); c.Reason != v1alpha2.ReasonRolledOut {
		t.Errorf("UpToDate is %s: %s", c.Reason, c.Message)
	}
}

// TestHeldCanaryDoesNotReplacePods: with one replica, a canary is as many pods as required. The
// Deployment controller must not remove the serving pod for it, neither during the canary nor while
// it is held, and its configuration must not reach other pods.
func TestHeldCanaryDoesNotReplacePods(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	must(t, kube.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "flaw"}, Data: map[string]string{"there": ""},
	}))
	spec := saying("", 1)
	spec.Rollout = shortCanary()
	spec.Rollout.OnFailure, spec.Rollout.Canary.DurationSeconds = v1alpha2.OnFailureHold, new(int32(60))
	spec.Config = answering("if (-f /srv/flaw/there) { return 503; }")
	nginx := createReady(t, namespace, "web", spec)
	pods, before := podUIDs(t, nginx), stableFiles(t, nginx)
	traffic := startTraffic(t, nginx, "hello")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Content = []v1alpha2.Content{{MountPath: "/srv/flaw", ConfigMap: &v1alpha2.ConfigMapReference{Name: "flaw"}}}
		s.Config = answering("if (-f /srv/flaw/there) { return 500; }")
	})
	waitMessage(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonRolloutHeld, v1alpha2.ReasonCanaryFailed)
	traffic.cancel()
	<-traffic.done
	eventually(t, "the Deployment is held", func() error {
		if d := deploymentOf(t, nginx); !d.Spec.Paused || d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("paused %t, seen %d of %d", d.Spec.Paused, d.Status.ObservedGeneration, d.Generation)
		}
		return nil
	})
	for range 20 {
		time.Sleep(500 * time.Millisecond)
		waitServing(t, nginx, pods)
	}
	if diff := cmp.Diff(before, stableFiles(t, nginx)); diff != "" {
		t.Errorf("pods would start with what has failed (-before +now):\n%s", diff)
	}
	waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonMinimumReplicasAvailable)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Rollout.OnFailure = v1alpha2.OnFailureRollback })
	waitRolledBack(t, nginx, pods, v1alpha2.ReasonCanaryFailed)
}

// stableFiles returns the configuration that pods start with.
func stableFiles(t *testing.T, nginx *v1alpha2.NginxOperator) map[string]string {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: naming.ConfigMap(nginx.Name)}}
	must(t, get(t, cm))
	return cm.Data
}
