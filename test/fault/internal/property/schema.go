// Package property changes the fields of a resource one at a time, based on its schema. Each field
// that is set gets removed. Each field gets values at and beyond its limits, and values that break
// careless handling of text.
package property

import (
	"cmp"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Schema is the OpenAPI schema of a field.
type Schema = apiextensionsv1.JSONSchemaProps

// Leaves returns the paths of all fields below a path that hold something themselves: scalars, and
// lists and maps as a whole. "[]" stands for the items of a list, "{}" for the values of a map.
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

// scalar reports whether a field holds a single value.
func scalar(s *Schema) bool {
	return s.XIntOrString || len(s.Properties) == 0 && s.Items == nil && s.AdditionalProperties == nil
}

func names(s *Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }

// place is a field at its position in a value.
type place struct {
	// leaf is the field's path in the schema, at its path in the value.
	leaf, at string
	schema   *Schema
	// path is the path in the value as a list: names of fields, keys of maps, and indices of lists.
	path []any
	// there reports whether the field is set, and value is what it is set to.
	there bool
	value any
}

// places returns all fields of a value, including the unset fields of its objects. It also returns
// objects, so that they can be removed.
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

// below returns the fields within a field.
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

// best returns, over all values, the place at which each field is changed: one where the field is
// set, if there is one.
func best(s *Schema, values []map[string]any) map[string]seedField {
	all := map[string]seedField{}
	for i, value := range values {
		for _, p := range places(s, value, true) {
			old, ok := all[p.leaf]
			if !ok || p.there && !old.there {
				all[p.leaf] = seedField{place: p, in: i}
			}
		}
	}
	return all
}

// seedField is a place in the value with the index in.
type seedField struct {
	place
	in int
}

func byLeaf(all map[string]seedField) []seedField {
	return slices.SortedFunc(maps.Values(all), func(a, b seedField) int { return cmp.Compare(a.leaf, b.leaf) })
}
