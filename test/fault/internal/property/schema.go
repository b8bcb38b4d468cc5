// Package property changes the fields of a resource one at a time, by its schema: every field that
// holds something is left out, is given the values at the ends of what is allowed and beyond, and
// such as break what is careless with text.
package property

import (
	"cmp"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Schema is a field's schema.
type Schema = apiextensionsv1.JSONSchemaProps

// Leaves are the paths of all fields below one that hold something themselves: values, and lists
// and maps as a whole. "[]" stands for the items of a list, "{}" for the values of a map.
func Leaves(s *Schema, path string) []string {
	var all []string
	switch {
	case scalar(s):
		return []string{path}
	case s.Items != nil:
		all = Leaves(s.Items.Schema, path+"[]")
	case s.AdditionalProperties != nil:
		all = Leaves(s.AdditionalProperties.Schema, path+"{}")
	default:
		for _, name := range names(s) {
			all = append(all, Leaves(new(s.Properties[name]), path+"."+name)...)
		}
		return all
	}
	return append(all, path)
}

// scalar tells whether a field holds one value.
func scalar(s *Schema) bool {
	return s.XIntOrString || len(s.Properties) == 0 && s.Items == nil && s.AdditionalProperties == nil
}

func names(s *Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }

// place is a field in a value.
type place struct {
	// leaf is the path of the field in the schema, at that in the value.
	leaf, at string
	schema   *Schema
	// path leads there: names of fields, keys of maps, and indices of lists.
	path []any
	// there tells that the field is set, to value.
	there bool
	value any
}

// places are the fields of a value and those that could be set in its objects. Objects are among
// them as well, to be left out.
func places(s *Schema, value any, there bool) []place {
	var all []place
	var walk func(p place)
	walk = func(p place) {
		all = append(all, p)
		if scalar(p.schema) || !p.there {
			return
		}
		for _, below := range p.below() {
			walk(below)
		}
	}
	walk(place{leaf: "spec", at: "spec", schema: s, there: there, value: value})
	return all[1:]
}

// below are the fields in a field.
func (p place) below() []place {
	var all []place
	switch value := p.value.(type) {
	case []any:
		for i, item := range value {
			all = append(all, p.step(p.schema.Items.Schema, "[]", index(i), i, item, true))
		}
	case map[string]any:
		if p.schema.AdditionalProperties != nil {
			for _, key := range slices.Sorted(maps.Keys(value)) {
				all = append(all, p.step(p.schema.AdditionalProperties.Schema, "{}", "{"+key+"}", key, value[key], true))
			}
			break
		}
		for _, name := range names(p.schema) {
			item, there := value[name]
			all = append(all, p.step(new(p.schema.Properties[name]), "."+name, "."+name, name, item, there))
		}
	}
	return all
}

func (p place) step(s *Schema, leaf, at string, key, value any, there bool) place {
	return place{
		leaf: p.leaf + leaf, at: p.at + at, schema: s, path: append(slices.Clip(p.path), key), there: there, value: value,
	}
}

// best are the places, over all values, in which each field is changed: where it is set, if it is
// anywhere, and in the first of the values.
func best(s *Schema, values []map[string]any) map[string]found {
	all := map[string]found{}
	for i, value := range values {
		for _, p := range places(s, value, true) {
			old, ok := all[p.leaf]
			if !ok || p.there && !old.there {
				all[p.leaf] = found{place: p, in: i}
			}
		}
	}
	return all
}

// found is a place in one of some values.
type found struct {
	place
	in int
}

func byLeaf(all map[string]found) []found {
	return slices.SortedFunc(maps.Values(all), func(a, b found) int { return cmp.Compare(a.leaf, b.leaf) })
}
