package apply

import (
	"encoding/json"
	"slices"
)

// identityFields are Kubernetes' service fields that a live object has anyway.
var identityFields = map[string]bool{"apiVersion": true, "kind": true}

// atomicFields are the maps that have one owner: those that Kubernetes does not merge (x-kubernetes-map-type:
// atomic; for the operator's objects these are selectors), and those whose fields depend on one of them.
var atomicFields = map[string]bool{
	"selector": true, "nodeSelector": true, "labelSelector": true, "seccompProfile": true, "appArmorProfile": true,
}

// holds tells whether every field of the intent still stands in the live object.
// It is what tells drift from fields that others added: an injected sidecar, an
// autoscaler's replicas, the annotation of a rollout restart.
//
// An object in a list has to stand in some item of the live list, whatever the
// order: Kubernetes merges such lists by a key, and others may add to them. Lists of
// plain values, and the maps of atomicFields, are atomic: they have one owner and
// have to be equal. A field that is not there is another one than one that is set to its
// zero value; see telling.
func holds(intent, live map[string]any) bool {
	for key, want := range intent {
		if identityFields[key] {
			continue
		}
		if !valueHolds(want, live[key]) || atomicFields[key] && !valueHolds(live[key], want) {
			return false
		}
	}
	return true
}

// equal tells whether there is nothing in either of two maps that is not in the other.
func equal(a, b map[string]any) bool { return holds(a, b) && holds(b, a) }

func valueHolds(want, have any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		return ok && holds(want, have)
	case []any:
		have, ok := have.([]any)
		return ok && listHolds(want, have)
	case nil:
		return true
	case orAbsent:
		return have == nil || valueHolds(want.value, have)
	default:
		return scalarsEqual(want, have)
	}
}

func listHolds(want, have []any) bool {
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
		if !someHolds(item, have) {
			return false
		}
	}
	return true
}

func someHolds(want any, have []any) bool {
	for _, item := range have {
		if valueHolds(want, item) {
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
