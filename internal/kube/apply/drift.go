package apply

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/kube/owned"
)

// driftedFields returns the paths of the fields in which a live object differs from an intent.
func driftedFields(intent owned.Intent, live map[string]any) ([]string, error) {
	paths, err := missingFields(intent, live)
	for _, addition := range added(intent, live) {
		paths = append(paths, addition.path)
	}
	slices.Sort(paths)
	return paths, err
}

// missingFields returns the paths of the fields of an intent that a live object lacks, sorted.
func missingFields(intent owned.Intent, live map[string]any) ([]string, error) {
	if contains(intent.Kind.Schema, intent.Fields, live) {
		return nil, nil
	}
	fields, err := significantFields(intent)
	if err != nil {
		return nil, err
	}
	return missing(intent.Kind.Schema, "", fields, live), nil
}

// zeroOrAbsent is a value that means the same as its absence.
type zeroOrAbsent struct{ value any }

// MarshalJSON implements json.Marshaler.
func (o zeroOrAbsent) MarshalJSON() ([]byte, error) { return json.Marshal(o.value) }

// significantFields returns the fields of an intent, with zero values marked that mean the same as their absence: if
// Go's type does not distinguish a zero value from an absent field, the API server omits it. If it does
// (allowPrivilegeEscalation: false, emptyDir: {}), absence means something else.
func significantFields(intent owned.Intent) (map[string]any, error) {
	object := intent.Kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(intent.Fields, object); err != nil {
		return nil, fmt.Errorf("the type of %s: %w", intent.Kind.Name, err)
	}
	typed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("the type of %s: %w", intent.Kind.Name, err)
	}
	return significantIn(intent.Fields, typed), nil
}

func significantIn(fields, typed map[string]any) map[string]any {
	significant := make(map[string]any, len(fields))
	for key, value := range fields {
		if there, ok := typed[key]; ok || !isZero(value) {
			significant[key] = significantValue(value, there)
		} else {
			significant[key] = zeroOrAbsent{value}
		}
	}
	return significant
}

func significantValue(value, typed any) any {
	switch value := value.(type) {
	case map[string]any:
		if typed, ok := typed.(map[string]any); ok {
			return significantIn(value, typed)
		}
	case []any:
		if typed, ok := typed.([]any); ok && len(typed) == len(value) {
			significant := make([]any, len(value))
			for i := range value {
				significant[i] = significantValue(value[i], typed[i])
			}
			return significant
		}
	}
	return value
}

// isZero reports whether a value is empty.
func isZero(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return reflect.ValueOf(v).IsZero()
	}
}
