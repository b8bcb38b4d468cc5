package apply

import (
	"encoding/json"
	"slices"
)

// identityFields identify an object, and every live object has them.
var identityFields = map[string]bool{"apiVersion": true, "kind": true}

// atomicFields are the maps and lists that have one owner: those that Kubernetes does not merge
// (x-kubernetes-map-type and x-kubernetes-list-type: atomic; for the operator's objects these are selectors and
// the rules of a NetworkPolicy), and those whose fields depend on one of them.
var atomicFields = map[string]bool{
	"selector": true, "nodeSelector": true, "labelSelector": true, "seccompProfile": true, "appArmorProfile": true, "ingress": true,
}

// contains reports whether the live object still has every field of the intent. It distinguishes drift from fields
// that others added: an injected sidecar, an autoscaler's replicas, the annotation of a rollout restart.
//
// An object in a list has to be contained in some item of the live list, whatever the order: Kubernetes merges such
// lists by a key, and others may add to them. Lists of plain values, and the fields of atomicFields, have one owner
// and must be equal. An absent field differs from one with its zero value; see significantFields.
func contains(intent, live map[string]any) bool {
	for key, want := range intent {
		if identityFields[key] {
			continue
		}
		if !valueContains(want, live[key]) || atomicFields[key] && !valueContains(live[key], want) {
			return false
		}
	}
	return true
}

// equal reports whether two maps contain each other.
func equal(a, b map[string]any) bool { return contains(a, b) && contains(b, a) }

func valueContains(want, have any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		return ok && contains(want, have)
	case []any:
		have, ok := have.([]any)
		return ok && listContains(want, have)
	case nil:
		return true
	case zeroOrAbsent:
		return have == nil || valueContains(want.value, have)
	default:
		return scalarsEqual(want, have)
	}
}

func listContains(want, have []any) bool {
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
		if !anyContains(item, have) {
			return false
		}
	}
	return true
}

func anyContains(want any, have []any) bool {
	for _, item := range have {
		if valueContains(want, item) {
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
