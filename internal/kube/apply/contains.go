package apply

import (
	"encoding/json"
	"slices"

	"example.com/nginx-operator/internal/kube/owned"
)

// typeFields are the fields that an object of a Go type leaves out, because its type has them.
var typeFields = map[string]bool{"apiVersion": true, "kind": true}

// contains reports whether the live object still has every field of the intent. It distinguishes drift from fields
// that others added: an injected sidecar, an autoscaler's replicas, the annotation of a rollout restart.
//
// An object in a list has to be contained in some item of the live list, whatever the order: Kubernetes merges such
// lists by a key, and others may add to them. Lists of plain values, and the atomic fields of the schema, have one
// owner and must be equal. An absent field differs from one with its zero value; see significantFields.
func contains(schema *owned.Schema, intent, live map[string]any) bool {
	for key, want := range intent {
		have, there := live[key]
		if !there && typeFields[key] {
			continue
		}
		field := schema.Field(key)
		if !valueContains(field, want, have) || field.IsAtomic() && !valueContains(field, have, want) {
			return false
		}
	}
	return true
}

// equal reports whether two maps contain each other.
func equal(schema *owned.Schema, a, b map[string]any) bool {
	return contains(schema, a, b) && contains(schema, b, a)
}

func valueContains(schema *owned.Schema, want, have any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		return ok && contains(schema, want, have)
	case []any:
		have, ok := have.([]any)
		return ok && listContains(schema, want, have)
	case nil:
		return true
	case zeroOrAbsent:
		return have == nil || valueContains(schema, want.value, have)
	default:
		return scalarsEqual(want, have)
	}
}

func listContains(schema *owned.Schema, want, have []any) bool {
	if len(want) == 0 {
		return true
	}
	if len(have) < len(want) {
		return false
	}
	if _, objects := want[0].(map[string]any); !objects {
		return slices.EqualFunc(want, have, scalarsEqual)
	}
	for _, item := range want {
		if !anyContains(schema.Each(), item, have) {
			return false
		}
	}
	return true
}

func anyContains(schema *owned.Schema, want any, have []any) bool {
	for _, item := range have {
		if valueContains(schema, want, item) {
			return true
		}
	}
	return false
}

// scalarsEqual compares across the numeric types that the converters use.
func scalarsEqual(a, b any) bool {
	if a == b {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
