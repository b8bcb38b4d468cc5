package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/kube/owned"
)

// missing returns the paths of the fields of an intent that the live object lacks, sorted; none if and only if
// contains is true. The schema says what identifies an item of a list.
func missing(schema *owned.Schema, path string, intent, live map[string]any) []string {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(intent)) {
		if one := map[string]any{key: intent[key]}; contains(schema, one, live) {
			continue
		}
		paths = append(paths, missingIn(schema.Field(key), strings.TrimPrefix(path+"."+key, "."), intent[key], live[key])...)
	}
	return paths
}

func missingIn(schema *owned.Schema, path string, want, have any) []string {
	switch want := want.(type) {
	case map[string]any:
		if have, ok := have.(map[string]any); ok && !schema.IsAtomic() {
			return missing(schema, path, want, have)
		}
	case []any:
		if have, ok := have.([]any); ok && len(have) > 0 {
			return missingItems(schema, path, want, have)
		}
	}
	return []string{path}
}

func missingItems(schema *owned.Schema, path string, want, have []any) []string {
	var paths []string
	for _, item := range want {
		ours, ok := item.(map[string]any)
		key := schema.KeyOf(ours)
		if !ok || key == nil {
			return []string{path}
		}
		if anyContains(schema.Each(), item, have) {
			continue
		}
		at := fmt.Sprintf("%s[%v]", path, key)
		if theirs := schema.ItemOf(have, key); theirs != nil {
			paths = append(paths, missing(schema.Each(), at, ours, theirs)...)
		} else {
			paths = append(paths, at)
		}
	}
	return paths
}
