package explain

import (
	"os"
	"regexp"
	"strings"
	"testing"
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
