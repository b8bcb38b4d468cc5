package badconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/badconfig"
	"example.com/nginx-operator/test/internal/corpus"
)

func TestCorpus(t *testing.T) {
	all := badconfig.All()
	names, kinds := map[string]bool{}, map[string]bool{}
	for _, c := range all {
		if names[c.Name] {
			t.Errorf("%s: the name is taken", c.Name)
		}
		names[c.Name], kinds[c.Sort] = true, true
	}
	if len(all) < 300 || len(kinds) < 25 {
		t.Errorf("there are %d cases of %d sorts", len(all), len(kinds))
	}
	t.Logf("%d cases of %d sorts", len(all), len(kinds))
	if diff := cmp.Diff(all, badconfig.All()); diff != "" {
		t.Errorf("a second call gives others:\n%s", diff)
	}
}

// TestCases: an API server would accept each case, and the operator rejects exactly those that are
// meant for it.
func TestCases(t *testing.T) {
	seen := map[string]string{}
	for _, c := range badconfig.All() {
		t.Run(c.Name, func(t *testing.T) {
			corpus.CheckFiles(t, c.Files)
			_, err := nginxconf.New(nginxconf.Files(c.Files))
			if c.Finder == badconfig.Operator {
				if err == nil {
					t.Error("the operator takes it")
				} else if err := c.Want.In(err.Error()); err != nil {
					t.Error(err)
				}
			} else if err != nil {
				t.Errorf("the operator itself refuses it: %v", err)
			}
			if other, known := seen[nginxconf.Revision(c.Files)]; known {
				t.Errorf("it is the same as %s", other)
			}
			seen[nginxconf.Revision(c.Files)] = c.Name
			checkWant(t, c)
		})
	}
	if _, err := nginxconf.New(badconfig.Good("1")); err != nil {
		t.Errorf("the operator refuses the good configuration: %v", err)
	}
}

func checkWant(t *testing.T, c badconfig.Case) {
	t.Helper()
	if (c.Want.File == "") != (c.Want.Line == 0) {
		t.Errorf("the place is %q, line %d", c.Want.File, c.Want.Line)
	}
	if text, given := c.Files[c.Want.File]; c.Want.File != "" && (!given || c.Want.Line > strings.Count(text, "\n")+1) {
		t.Errorf("there is no %s", c.Want.Place())
	}
}

func TestDiagnosis(t *testing.T) {
	d := badconfig.Diagnosis{File: "a.conf", Line: 3, Messages: []string{"one", "other"}}
	if err := d.In("a.conf:3: the other"); err != nil {
		t.Error(err)
	}
	for _, message := range []string{"a.conf:4: one", "a.conf:3: what", ""} {
		if d.In(message) == nil {
			t.Errorf("%q is taken for the diagnosis", message)
		}
	}
	if err := (badconfig.Diagnosis{}).In("anything"); err != nil {
		t.Error(err)
	}
}
