package property

import (
	"fmt"
	"slices"
	"strconv"

	apimachineryruntime "k8s.io/apimachinery/pkg/runtime"
)

// Operation is a change to one field.
type Operation struct {
	// Seed is the index of the changed spec, Leaf the field's path in the schema, At its path in
	// the spec, and What describes the new value.
	Seed           int
	Leaf, At, What string
	// Value is the new value; Unset: the field is removed.
	Value any
	Unset bool
	// Spec is the changed spec.
	Spec map[string]any

	path []any
}

// Name returns the name of the operation, which is unique for its seed.
func (o *Operation) Name() string { return o.At + "=" + o.What }

// Operations returns the operations for all fields of a schema. The seeds should together contain
// every object, list and map of the schema; bare are the fields that have no place in any of them.
// examples are additional values by the fields' paths in the schema.
func Operations(s *Schema, seeds []map[string]any, examples map[string][]any) (all []Operation, bare []string) {
	chosen := best(s, seeds)
	for _, leaf := range Leaves(s, "spec") {
		if _, ok := chosen[leaf]; !ok {
			bare = append(bare, leaf)
		}
	}
	for _, f := range byLeaf(chosen) {
		for _, c := range append(candidates(f.place), exampled(examples[f.leaf])...) {
			o := Operation{Seed: f.in, Leaf: f.leaf, At: f.at, What: c.what, Value: c.value, Unset: c.unset, path: f.path}
			o.Spec, _ = o.Apply(seeds[f.in]) // the place was found in this seed
			all = append(all, o)
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

// Apply returns a copy of another spec with the operation's change; false: the spec has no such
// place.
func (o *Operation) Apply(spec map[string]any) (changed map[string]any, ok bool) {
	changed = apimachineryruntime.DeepCopyJSON(spec)
	_, ok = put(changed, o.path, candidate{value: o.Value, unset: o.Unset})
	return changed, ok
}

// put sets a candidate in a value, and returns the value; false: there is no such place.
func put(into any, path []any, c candidate) (_ any, ok bool) {
	switch in := into.(type) {
	case map[string]any:
		key, isName := path[0].(string)
		switch {
		case !isName:
			return into, false
		case len(path) > 1:
			in[key], ok = put(in[key], path[1:], c)
			return in, ok
		case c.unset:
			delete(in, key)
		default:
			in[key] = apimachineryruntime.DeepCopyJSONValue(c.value)
		}
		return in, true
	case []any:
		i, isIndex := path[0].(int)
		switch {
		case !isIndex || i >= len(in):
			return into, false
		case len(path) > 1:
			in[i], ok = put(in[i], path[1:], c)
			return in, ok
		case c.unset:
			in = slices.Delete(in, i, i+1)
		default:
			in[i] = apimachineryruntime.DeepCopyJSONValue(c.value)
		}
		return in, true
	}
	return into, false
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }
