package apply

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/desired"
)

// differing are the paths of the fields of a live object that are not as an intent has them.
func differing(intent desired.Intent, live map[string]any) ([]string, error) {
	paths, err := lacking(intent, live)
	for _, addition := range added(intent, live) {
		paths = append(paths, addition.path)
	}
	slices.Sort(paths)
	return paths, err
}

// lacking are the paths of the fields of an intent that do not stand in a live object, sorted.
func lacking(intent desired.Intent, live map[string]any) ([]string, error) {
	if holds(intent.Fields, live) {
		return nil, nil
	}
	fields, err := telling(intent)
	if err != nil {
		return nil, err
	}
	return missing("", fields, live), nil
}

// orAbsent is a value that says the same as its absence.
type orAbsent struct{ value any }

// MarshalJSON implements json.Marshaler: it is written as it is.
func (o orAbsent) MarshalJSON() ([]byte, error) { return json.Marshal(o.value) }

// telling are the fields of an intent, with those marked that say the same as their absence: where Go's type does not
// tell a field that is set to its zero value from one that is not there, the API server leaves it out. Where it does
// (allowPrivilegeEscalation: false, emptyDir: {}), absence means something else.
func telling(intent desired.Intent) (map[string]any, error) {
	object := intent.Kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(intent.Fields, object); err != nil {
		return nil, fmt.Errorf("the type of %s: %w", intent.Kind.Name, err)
	}
	typed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("the type of %s: %w", intent.Kind.Name, err)
	}
	return tellingIn(intent.Fields, typed), nil
}

func tellingIn(fields, typed map[string]any) map[string]any {
	told := make(map[string]any, len(fields))
	for key, value := range fields {
		if there, ok := typed[key]; ok || !isZero(value) {
			told[key] = tellingOf(value, there)
		} else {
			told[key] = orAbsent{value}
		}
	}
	return told
}

func tellingOf(value, typed any) any {
	switch value := value.(type) {
	case map[string]any:
		if typed, ok := typed.(map[string]any); ok {
			return tellingIn(value, typed)
		}
	case []any:
		if typed, ok := typed.([]any); ok && len(typed) == len(value) {
			told := make([]any, len(value))
			for i := range value {
				told[i] = tellingOf(value[i], typed[i])
			}
			return told
		}
	}
	return value
}

// isZero tells whether there is nothing in a value.
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
