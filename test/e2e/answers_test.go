//go:build e2e

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// refusesAll returns a configuration that nginx accepts but that answers every request with an
// error.
func refusesAll() *v1alpha2.Config {
	return &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "server { listen 8080; return 503; }"}}
}

// TestFirstAnswers: a configuration that rejects every request is rolled back, unless the first
// answers are to be ignored.
func TestFirstAnswers(t *testing.T) {
	t.Parallel()
	nginx := createReady(t, newNamespace(t), "web", saying("hello", 2))
	pods := podUIDs(t, nginx)
	traffic := startTraffic(t, nginx, "hello")
	// These responses are the baseline for the first answers.
	for range 100 {
		_, err := fetch(t.Context(), nginx)
		must(t, err)
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = refusesAll() })
	waitMessage(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, "rolled it back", "answers are 4xx or 5xx", "rollout.firstAnswers: Ignore")
	// The pods that loaded the bad configuration have answered some requests.
	traffic.cancel()
	<-traffic.done
	waitAnswer(t, nginx, "hello")
	waitOnly(t, nginx, pods)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Rollout = &v1alpha2.Rollout{FirstAnswers: new(v1alpha2.FirstAnswersIgnore)}
	})
	waitReady(t, nginx)
	waitOnly(t, nginx, pods)
}

// TestChecks: a configuration that fails a check reaches no second pod, and one that passes is
// served.
func TestChecks(t *testing.T) {
	t.Parallel()
	spec := saying("hello", 2)
	spec.Checks = []v1alpha2.Check{{Host: new("shop.example.com"), ExpectBody: new("hello")}}
	nginx := createReady(t, newNamespace(t), "web", spec)
	pods := podUIDs(t, nginx)
	say(t, nginx, "goodbye")
	waitMessage(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected,
		`spec.checks[0] (GET http://shop.example.com:8080/): the answer does not contain "hello"`)
	waitAnswer(t, nginx, "hello")
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Checks[0].ExpectBody = new("goodbye") })
	waitReady(t, nginx)
	waitAnswer(t, nginx, "goodbye")
	waitOnly(t, nginx, pods)
}
