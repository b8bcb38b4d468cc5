package hostile_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"example.com/nginx-operator/test/hostile"
)

func TestCorpus(t *testing.T) {
	all, err := hostile.All()
	if err != nil {
		t.Fatal(err)
	}
	names, objects, sorts := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, c := range all {
		if names[c.Name] {
			t.Errorf("%s: the name is taken", c.Name)
		}
		if object := c.Kind.Resource + "/" + c.Object; c.Want.Refused == "" && objects[object] {
			t.Errorf("%s: the object %s is taken", c.Name, object)
		} else {
			objects[object] = true
		}
		names[c.Name] = true
		sorts[c.Sort]++
	}
	if len(all) < 200 || len(sorts) < 8 {
		t.Errorf("there are %d cases of %d sorts", len(all), len(sorts))
	}
	for _, sort := range slices.Sorted(maps.Keys(sorts)) {
		t.Logf("%s: %d", sort, sorts[sort])
	}
	again, err := hostile.All()
	if err != nil || !reflect.DeepEqual(all, again) {
		t.Errorf("a second call gives others (%v)", err)
	}
}

// TestEveryText: the corpus injects into every text field of every kind in the API.
func TestEveryText(t *testing.T) {
	all, err := hostile.All()
	if err != nil {
		t.Fatal(err)
	}
	specs, err := hostile.Specs()
	if err != nil {
		t.Fatal(err)
	}
	injected := map[string]bool{}
	for _, c := range all {
		injected[c.Name] = true
	}
	fields := 0
	for kind, spec := range specs {
		for _, path := range spec.Texts("spec") {
			fields++
			if name := "injection: " + kind.Name + " " + kind.Version + " " + path + ": syntax"; !injected[name] {
				t.Errorf("there is no %s", name)
			}
		}
	}
	t.Logf("%d fields of %d versions of kinds", fields, len(specs))
}
