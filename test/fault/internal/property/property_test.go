package property

import (
	"fmt"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/hostile"
	"example.com/nginx-operator/test/testenv"
)

func specSchema(t *testing.T) *Schema {
	t.Helper()
	crd, err := testenv.CRD()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == v1alpha2.GroupVersion.Version {
			return new(v.Schema.OpenAPIV3Schema.Properties["spec"])
		}
	}
	t.Fatal("there is no v1alpha2")
	return nil
}

func seeds(t *testing.T) []map[string]any {
	t.Helper()
	all, err := hostile.Bases("v1alpha2")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEveryLeaf: every field of the schema is changed in more than one way.
func TestEveryLeaf(t *testing.T) {
	s := specSchema(t)
	all, bare := Operations(s, seeds(t), nil)
	if len(bare) > 0 {
		t.Fatalf("no seed has an object with the fields %v: add one", bare)
	}
	changes := map[string]int{}
	for _, o := range all {
		changes[o.Leaf]++
	}
	leaves := Leaves(s, "spec")
	for _, leaf := range leaves {
		if changes[leaf] < 2 {
			t.Errorf("%s is changed in %d ways", leaf, changes[leaf])
		}
	}
	t.Logf("%d leaves, %d operations", len(leaves), len(all))
}

// TestOperationsDiffer: an operation changes its seed only at its place, and has a unique name.
func TestOperationsDiffer(t *testing.T) {
	specs := seeds(t)
	untouched := seeds(t)
	all, _ := Operations(specSchema(t), specs, map[string][]any{"spec.ports[].nodePort": {int64(30080)}})
	names := map[string]bool{}
	for _, o := range all {
		name := fmt.Sprint(o.Seed, o.Name())
		if names[name] {
			t.Errorf("there are two of %s", name)
		}
		names[name] = true
		if equality.Semantic.DeepEqual(o.Spec, specs[o.Seed]) {
			t.Errorf("%s changes nothing", name)
		}
	}
	if !equality.Semantic.DeepEqual(specs, untouched) {
		t.Error("the seeds themselves were changed")
	}
	if !names["0spec.ports[0].nodePort=30080"] {
		t.Error("an example is not among the values")
	}
}

func TestValues(t *testing.T) {
	s := &Schema{Type: "object", Properties: map[string]Schema{
		"size":  {Type: "integer", Minimum: new(1.0), Maximum: new(9.0)},
		"color": {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"red"`)}, {Raw: []byte(`"blue"`)}}, MaxLength: new(int64(4))},
		"marks": {Type: "array", MaxItems: new(int64(2)), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &Schema{Type: "string"}}},
	}}
	seed := map[string]any{"size": int64(3), "marks": []any{"a", "b"}}
	all, bare := Operations(s, []map[string]any{seed}, nil)
	if len(bare) > 0 {
		t.Fatal(bare)
	}
	for name, want := range map[string]any{
		"spec.size=unset":     map[string]any{"marks": []any{"a", "b"}},
		"spec.size=min":       map[string]any{"size": int64(1), "marks": []any{"a", "b"}},
		"spec.size=max+1":     map[string]any{"size": int64(10), "marks": []any{"a", "b"}},
		"spec.size=other":     map[string]any{"size": int64(4), "marks": []any{"a", "b"}},
		"spec.color=enum-red": map[string]any{"size": int64(3), "color": "red", "marks": []any{"a", "b"}},
		"spec.color=too-long": map[string]any{"size": int64(3), "color": "xxxxx", "marks": []any{"a", "b"}},
		"spec.marks=reversed": map[string]any{"size": int64(3), "marks": []any{"b", "a"}},
		"spec.marks=too-many": map[string]any{"size": int64(3), "marks": []any{"a", "a", "a"}},
		"spec.marks[0]=unset": map[string]any{"size": int64(3), "marks": []any{"b"}},
		"spec.marks[0]=other": map[string]any{"size": int64(3), "marks": []any{"a-2", "b"}},
	} {
		i := slices.IndexFunc(all, func(o Operation) bool { return o.Name() == name })
		if i < 0 {
			t.Errorf("there is no %s", name)
		} else if !equality.Semantic.DeepEqual(all[i].Spec, want) {
			t.Errorf("%s: %v, want %v", name, all[i].Spec, want)
		}
	}
}

func TestApply(t *testing.T) {
	o := Operation{Value: "b", path: []any{"items", 1, "name"}}
	spec := map[string]any{"items": []any{map[string]any{}, map[string]any{"name": "a"}}}
	changed, ok := o.Apply(spec)
	want := map[string]any{"items": []any{map[string]any{}, map[string]any{"name": "b"}}}
	if !ok || !equality.Semantic.DeepEqual(changed, want) {
		t.Errorf("%v (%t), want %v", changed, ok, want)
	}
	for name, other := range map[string]map[string]any{
		"a shorter list": {"items": []any{map[string]any{}}},
		"no list":        {"items": "none"},
		"nothing":        {},
	} {
		if changed, ok := o.Apply(other); ok {
			t.Errorf("%s: it becomes %v", name, changed)
		}
	}
}

// TestBare: a field that no seed has a place for is reported.
func TestBare(t *testing.T) {
	_, bare := Operations(specSchema(t), []map[string]any{{}}, nil)
	if !slices.Contains(bare, "spec.ports[].name") || slices.Contains(bare, "spec.replicas") {
		t.Errorf("bare are %v", bare)
	}
}
