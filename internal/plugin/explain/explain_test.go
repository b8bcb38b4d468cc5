package explain

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestEveryReason: each reason that the documents list as False or Unknown has an advice, and no other.
func TestEveryReason(t *testing.T) {
	text, err := os.ReadFile("../../../docs/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## NginxOperator\n")
	section, _, found := strings.Cut(section, "\n### Events of an NginxOperator\n")
	documented := map[string]bool{"CanaryFailed": true} // The message of a rollback quotes it.
	for _, row := range regexp.MustCompile("(?m)^\\| (?:False|Unknown) \\| `(\\w+)` \\|").FindAllStringSubmatch(section, -1) {
		documented[row[1]] = true
		if _, ok := advices[row[1]]; !ok {
			t.Errorf("there is no advice for %s", row[1])
		}
	}
	if !found || len(documented) < 20 {
		t.Fatalf("docs/conditions.md has only %d reasons", len(documented))
	}
	for reason, a := range advices {
		if !documented[reason] {
			t.Errorf("docs/conditions.md does not have %s", reason)
		}
		if a.means == "" || a.do == "" || len(a.commands) == 0 {
			t.Errorf("the advice for %s is incomplete: %+v", reason, a)
		}
	}
}

// TestCauses: what only follows from another cause is left out, and no pod serves what it cannot.
func TestCauses(t *testing.T) {
	condition := func(name string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: reason}
	}
	for name, tt := range map[string]struct {
		conditions []metav1.Condition
		ready      int32
		want       []string
	}{
		"a configuration that waits": {
			[]metav1.Condition{condition("ConfigValid", "Unknown", "ConfigPending"), condition("UpToDate", "False", "RolloutPaused")}, 1,
			[]string{advices["RolloutPaused"].means},
		},
		"a configuration that is being tested": {
			[]metav1.Condition{condition("ConfigValid", "Unknown", "ConfigPending"), condition("UpToDate", "False", "ConfigLoading")}, 1,
			[]string{advices["ConfigLoading"].means, advices["ConfigPending"].means},
		},
		"a later configuration is refused": {[]metav1.Condition{condition("ConfigValid", "False", "ConfigRejected")}, 1, []string{advices["ConfigRejected"].means}},
		"the first configuration is refused": {
			[]metav1.Condition{condition("ConfigValid", "False", "ConfigRejected")}, 0, []string{"nginx refuses the configuration, and no pod serves"},
		},
	} {
		var got []string
		for _, c := range causes(&v1alpha2.NginxOperator{Status: v1alpha2.NginxOperatorStatus{Conditions: tt.conditions, ReadyReplicas: tt.ready}}) {
			got = append(got, c.Means)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
