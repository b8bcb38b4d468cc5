package property

import (
	"fmt"
	"slices"
	"strconv"

	apimachineryruntime "k8s.io/apimachinery/pkg/runtime"
)

// Operation is a change of one field.
type Operation struct {
	// Seed is the number of the spec that is changed, Leaf the path of the field in the schema, At
	// that in the spec, and What becomes of it.
	Seed           int
	Leaf, At, What string
	// Value is the new one; Unset: the field is left out.
	Value any
	Unset bool
	// Spec is what the spec becomes.
	Spec map[string]any
}

// Name is the operation's among those of its seed.
func (o *Operation) Name() string { return o.At + "=" + o.What }

// Operations are those of all fields of a schema, in specs that together have every object, list and
// map of it. bare are the fields that no spec gives a place. examples are further values, by the
// fields' paths in the schema.
func Operations(s *Schema, seeds []map[string]any, examples map[string][]any) (all []Operation, bare []string) {
	chosen := best(s, seeds)
	for _, leaf := range Leaves(s, "spec") {
		if _, ok := chosen[leaf]; !ok {
			bare = append(bare, leaf)
		}
	}
	for _, f := range byLeaf(chosen) {
		for _, c := range append(candidates(f.place), exampled(examples[f.leaf])...) {
			all = append(all, Operation{
				Seed: f.in, Leaf: f.leaf, At: f.at, What: c.what, Value: c.value, Unset: c.unset,
				Spec: change(seeds[f.in], f.path, c),
			})
		}
	}
	return all, bare
}

func exampled(values []any) []candidate {
	var all []candidate
	for _, v := range values {
		all = append(all, candidate{what: fmt.Sprint(v), value: v})
	}
	return all
}

// change returns a copy of a spec with a candidate in its place.
func change(spec map[string]any, path []any, c candidate) map[string]any {
	changed := apimachineryruntime.DeepCopyJSON(spec)
	put(changed, path, c)
	return changed
}

// put puts a candidate into a value, and returns the value.
func put(into any, path []any, c candidate) any {
	switch key := path[0].(type) {
	case string:
		object, ok := into.(map[string]any)
		switch {
		case !ok:
			panic(fmt.Sprintf("%v is no object with a field %s", into, key))
		case len(path) > 1:
			object[key] = put(object[key], path[1:], c)
		case c.unset:
			delete(object, key)
		default:
			object[key] = apimachineryruntime.DeepCopyJSONValue(c.value)
		}
		return object
	case int:
		list, ok := into.([]any)
		switch {
		case !ok:
			panic(fmt.Sprintf("%v is no list with an item %d", into, key))
		case len(path) > 1:
			list[key] = put(list[key], path[1:], c)
		case c.unset:
			list = slices.Delete(list, key, key+1)
		default:
			list[key] = apimachineryruntime.DeepCopyJSONValue(c.value)
		}
		return list
	}
	panic(fmt.Sprintf("%v leads nowhere", path[0]))
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }
