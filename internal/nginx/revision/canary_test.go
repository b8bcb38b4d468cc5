package revision

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
)

// TestSilentPodsAreOtherPods: a canary is not alone because the other pods do not answer.
func TestSilentPodsAreOtherPods(t *testing.T) {
	pod := func(name string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     corev1.PodStatus{PodIP: "ip-" + name, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	instance := func(serving string) *instanceapi.Status { return &instanceapi.Status{Serving: serving} }
	p := &progress{
		Input: Input{
			Nginx: &v1alpha2.NginxOperator{},
			State: observe.State{
				Pods: []corev1.Pod{
					pod("canary", corev1.ConditionTrue), pod("silent-canary", corev1.ConditionTrue),
					pod("answers", corev1.ConditionTrue), pod("silent", corev1.ConditionTrue), pod("starting", corev1.ConditionFalse),
				},
				Instances: map[string]*instanceapi.Status{
					"canary": instance("new"), "answers": instance("old"), "starting": instance("old"),
				},
			},
		},
		selection: &Selection{},
	}
	p.Rollout.AnalyzeAgain, p.Rollout.Served = []string{"canary", "silent-canary"}, 10*time.Second
	want := &CanaryAnalysis{
		Canaries: []AnalyzedPod{{PodIP: "ip-canary", Revision: "new", Reloaded: true}},
		Others:   []AnalyzedPod{{PodIP: "ip-answers", Revision: "old"}},
		Silent:   1, Seconds: 10, Limits: canary.Limits{MaxErrorPercent: defaultCanaryErrors},
	}
	if diff := cmp.Diff(want, p.canaryAnalysis()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPromoted: a promotion ends the canary of the rollout that it names, and of no other.
func TestPromoted(t *testing.T) {
	for name, tt := range map[string]struct {
		annotation string
		stage      history.Stage
		want       bool
	}{
		"none":                                   {"", history.Canary, false},
		"this rollout":                           {"7", history.Canary, true},
		"another rollout":                        {"6", history.Canary, false},
		"a rollout that has ended":               {"7", "", false},
		"this configuration":                     {"c2@7", "", true},
		"this configuration, after another one":  {"c2@6", "", false},
		"an earlier configuration":               {"c1@7", "", false},
		"this configuration, with other pods":    {"c2@7", history.Canary, false},
		"a configuration without the one before": {"c2", "", false},
		"the template is no number":              {"t2", history.Canary, false},
	} {
		t.Run(name, func(t *testing.T) {
			nginx := &v1alpha2.NginxOperator{}
			nginx.Spec.Rollout = &v1alpha2.Rollout{Canary: &v1alpha2.Canary{}}
			nginx.Annotations = map[string]string{v1alpha2.AnnotationPromote: tt.annotation}
			p := &progress{selection: &Selection{}, Input: Input{Nginx: nginx, State: observe.State{History: history.History{
				{Name: "r6", Number: 6, Template: "t1", State: history.StateGood}, {Name: "r7", Number: 7, Template: "t2", State: history.StateGood, ServedAt: time.Unix(9, 0), Stage: tt.stage},
			}}}}
			p.selection.Run = Revision{Hash: "t2", Config: Configuration{Config: nginxconf.Config{Revision: "c2"}}}
			if got := p.canaryParameters() == nil; got != tt.want {
				t.Errorf("promoted: %v", got)
			}
		})
	}
}
