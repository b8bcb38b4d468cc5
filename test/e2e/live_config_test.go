//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// revisionSaying returns the revision of the configuration that answers with a text.
func revisionSaying(text string) string {
	return nginxconf.Revision(nginxconf.Files{"site.conf": siteSaying(text)})
}

func say(t *testing.T, nginx *v1alpha2.NginxOperator, text string) {
	t.Helper()
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = says(text) })
}

// TestLiveFiles: changes of inline files, also back and forth, are loaded without a restart of a
// pod.
func TestLiveFiles(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("one", 2))
	before, generation := podStates(t, nginx), deploymentOf(t, nginx).Generation
	for _, text := range []string{"two", "one", "two", "three"} {
		say(t, nginx, text)
		waitLive(t, nginx, revisionSaying(text))
		waitAnswer(t, nginx, text)
		waitCondition(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionTrue, v1alpha2.ReasonConfigAccepted)
	}
	waitReady(t, nginx)
	samePods(t, nginx, before)
	if now := deploymentOf(t, nginx).Generation; now != generation {
		t.Errorf("the Deployment went from generation %d to %d", generation, now)
	}
}

// TestLiveReference: changes of the referenced ConfigMap are loaded, and deleting and recreating it
// interrupts nothing.
func TestLiveReference(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	source := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-conf"},
		Data:       map[string]string{"site.conf": siteSaying("one")},
	}
	must(t, kube.Create(t.Context(), source))
	nginx := createReady(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Replicas: new(int32(2)), Ports: ports(httpPort),
		Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: source.Name}},
	})
	before := podStates(t, nginx)
	update(t, source, func() { source.Data["site.conf"] = siteSaying("two") })
	waitLive(t, nginx, revisionSaying("two"))
	waitAnswer(t, nginx, "two")
	samePods(t, nginx, before)

	traffic := startTraffic(t, nginx, "two")
	must(t, kube.Delete(t.Context(), source))
	waitMessage(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonConfigMapNotFound, "web-conf")
	waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonMinimumReplicasAvailable)
	// A pod that starts while the referenced ConfigMap is missing serves the previous
	// configuration.
	must(t, kube.Delete(t.Context(), &podsOf(t, nginx)[0]))
	eventually(t, "two pods are ready again", func() error {
		must(t, get(t, nginx))
		if nginx.Status.ReadyReplicas != 2 || len(podsOf(t, nginx)) != 2 {
			return fmt.Errorf("%d are", nginx.Status.ReadyReplicas)
		}
		return nil
	})
	waitAnswer(t, nginx, "two")
	traffic.stop(t)

	before = podStates(t, nginx)
	source.ResourceVersion = ""
	source.Data["site.conf"] = siteSaying("three")
	must(t, kube.Create(t.Context(), source))
	waitLive(t, nginx, revisionSaying("three"))
	waitReady(t, nginx)
	waitAnswer(t, nginx, "three")
	samePods(t, nginx, before)
}

// TestLiveBadConfiguration: for a bad configuration, the condition names file and line, nothing
// else changes, and the next good one is loaded.
func TestLiveBadConfiguration(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("good", 2))
	before := podStates(t, nginx)
	traffic := startTraffic(t, nginx, "good")
	bad := func(line string) *v1alpha2.Config {
		return filesConfig(map[string]string{"site.conf": "server {\n    listen 8080;\n    " + line + "\n}\n"})
	}
	for _, tt := range []struct{ line, place, message string }{
		{"nonsense on;", "site.conf:3", `unknown directive "nonsense"`},
		{"proxy_pass", "site.conf:4", `unexpected "}"`},
		{"include missing.conf;", "site.conf:3", "No such file or directory"},
		{"location / { proxy_pass http://nowhere.invalid; }", "site.conf:3", "host not found in upstream"},
	} {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = bad(tt.line) })
		waitMessage(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, tt.place, tt.message)
		waitMessage(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, tt.place, tt.message)
		waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonMinimumReplicasAvailable)
		if c := nginx.Status.Config; c == nil || c.StableRevision != revisionSaying("good") || c.LoadedReplicas != 0 {
			t.Errorf("the status has %+v", c)
		}
	}
	say(t, nginx, "good again")
	waitLive(t, nginx, revisionSaying("good again"))
	waitReady(t, nginx)
	traffic.stop(t)
	waitAnswer(t, nginx, "good again")
	samePods(t, nginx, before)
}

// TestLiveDeclaredPort: a configuration that does not listen on the declared port is rejected.
func TestLiveDeclaredPort(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("good", 1))
	before := podStates(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Config = filesConfig(map[string]string{"site.conf": "server {\n    listen 8081;\n}\n"})
	})
	waitMessage(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, "8080")
	waitAnswer(t, nginx, "good")
	say(t, nginx, "good again")
	waitLive(t, nginx, revisionSaying("good again"))
	samePods(t, nginx, before)
}

// TestLiveNewestWins: if the configuration changes during a load, the newest one is served in the
// end.
func TestLiveNewestWins(t *testing.T) {
	t.Parallel()
	s := newShop(t, 3, false)
	before := podStates(t, s.NginxOperator)
	var last string
	for range 3 {
		for range 5 {
			last = s.submit(t)
		}
		waitLive(t, s.NginxOperator, last)
		waitAnswer(t, s.NginxOperator, "revision="+s.revision())
	}
	// A bad configuration in between is replaced, too.
	edit(t, s.NginxOperator, func(spec *v1alpha2.NginxOperatorSpec) { spec.Config = broken() })
	last = s.submit(t)
	waitLive(t, s.NginxOperator, last)
	waitReady(t, s.NginxOperator)
	s.stop(t)
	samePods(t, s.NginxOperator, before)
}

// TestLiveScaling: pods that start during a change, or after scaling from zero, serve the newest
// configuration.
func TestLiveScaling(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("one", 1))
	scale := func(n int32, text string) {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Replicas, s.Config = &n, says(text) })
	}
	scale(4, "two")
	waitReady(t, nginx)
	waitLive(t, nginx, revisionSaying("two"))
	scale(2, "three")
	waitReady(t, nginx)
	waitLive(t, nginx, revisionSaying("three"))

	scale(0, "three")
	waitCondition(t, nginx, v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonScaledToZero)
	eventually(t, "no pod is left", func() error {
		if n := len(podsOf(t, nginx)); n > 0 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	// No pod can test the configuration. It is tested and served as soon as there is one.
	scale(0, "four")
	waitCondition(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionUnknown, v1alpha2.ReasonConfigPending)
	scale(2, "four")
	waitReady(t, nginx)
	waitLive(t, nginx, revisionSaying("four"))
	waitAnswer(t, nginx, "four")
}

// TestLiveOperatorKilled: a change, good or bad, is completed although the operator is killed in
// the middle of it.
func TestLiveOperatorKilled(t *testing.T) {
	nginx := createReady(t, newNamespace(t), "web", saying("one", 3))
	t.Cleanup(func() { waitOperatorAgain(t) })
	before := podStates(t, nginx)
	say(t, nginx, "two")
	killOperator(t)
	waitLive(t, nginx, revisionSaying("two"))

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = broken() })
	killOperator(t)
	waitMessage(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, "site.conf:2", "nonsense")
	waitAnswer(t, nginx, "two")

	waitOperator(t, operatorNamespace)
	killOperator(t)
	say(t, nginx, "three")
	waitLive(t, nginx, revisionSaying("three"))
	waitReady(t, nginx)
	samePods(t, nginx, before)
}
