package hurtful_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/hurtful"
	"example.com/nginx-operator/test/internal/corpus"
)

func TestCorpus(t *testing.T) {
	all := hurtful.All()
	families, foreseeable := map[hurtful.Family]int{}, 0
	whole := 0
	for _, c := range all {
		families[c.Family]++
		if c.Detection == hurtful.Foreseeable {
			foreseeable++
		}
		if _, is := c.Files[nginxconf.WholeFile]; is {
			whole++
		}
	}
	if len(all) < 180 {
		t.Errorf("there are %d configurations", len(all))
	}
	for _, family := range hurtful.Families() {
		if families[family] == 0 {
			t.Errorf("there is no configuration of the family %s", family)
		}
	}
	if len(families) != len(hurtful.Families()) {
		t.Errorf("there are configurations of other families: %v", families)
	}
	if whole < len(all)/3 || whole > len(all)*2/3 {
		t.Errorf("%d of %d are a whole nginx.conf", whole, len(all))
	}
	t.Logf("%d configurations, %d foreseeable, %d a whole nginx.conf, of the families %v", len(all), foreseeable, whole, families)
	if diff := cmp.Diff(all, hurtful.All()); diff != "" {
		t.Errorf("a second call gives others:\n%s", diff)
	}
}

// TestCases: an API server and the operator would accept each case.
func TestCases(t *testing.T) {
	names, revisions := map[string]bool{}, map[string]string{nginxconf.Revision(hurtful.Good()): "the good configuration"}
	for _, c := range hurtful.All() {
		t.Run(c.Name, func(t *testing.T) {
			if names[c.Name] {
				t.Error("the name is taken")
			}
			names[c.Name] = true
			corpus.CheckFiles(t, c.Files)
			if _, err := nginxconf.New(c.Files); err != nil {
				t.Errorf("the operator itself refuses it: %v", err)
			}
			revision := nginxconf.Revision(c.Files)
			if other, known := revisions[revision]; known {
				t.Errorf("it is the same as %s", other)
			}
			revisions[revision] = c.Name
			if c.Hurts == "" || c.Detection == "" || c.Effect == "" || len(c.Want.Messages) == 0 {
				t.Errorf("it lacks something: hurts %q, detection %q, effect %q, messages %q", c.Hurts, c.Detection, c.Effect, c.Want.Messages)
			}
		})
	}
}

// TestHangingCases: an API server and the operator would accept each configuration whose requests hang.
func TestHangingCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range hurtful.Hanging() {
		if corpus.CheckFiles(t, c.Files); names[c.Name] || c.Family != hurtful.Hangs || c.Hurts == "" {
			t.Errorf("%s: %+v", c.Name, c)
		}
		names[c.Name] = true
		if _, err := nginxconf.New(c.Files); err != nil {
			t.Errorf("%s: the operator itself refuses it: %v", c.Name, err)
		}
	}
	if len(names) != 25 {
		t.Errorf("there are %d", len(names))
	}
}

func TestServingNothing(t *testing.T) {
	if n := len(hurtful.ServingNothing()); n != 16 {
		t.Errorf("there are %d", n)
	}
	for _, c := range hurtful.ServingNothing() {
		if c.Family != hurtful.NothingServed || c.Effect != hurtful.Fails {
			t.Errorf("%s: its family is %s, its effect %s", c.Name, c.Family, c.Effect)
		}
	}
}
