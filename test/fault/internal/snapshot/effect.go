package snapshot

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Names returns the sorted keys of the objects, separated by commas.
func (p *Picture) Names() string {
	return strings.Join(slices.Sorted(maps.Keys(p.Objects)), ", ")
}

// Equal reports whether two values decoded from JSON are equal.
func Equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// HasEffect reports whether a value that a field was given shows in the changes between two pictures,
// or in a field of the same name. It ignores objects of the kind without, to which the value was
// given, and paths that match derived, because a hash can contain any digits.
func HasEffect(before, after Picture, without string, derived *regexp.Regexp, field string, value any) bool {
	for key, object := range after.Objects {
		if strings.HasPrefix(key, without+"/") || derived.MatchString(key) {
			continue
		}
		shows := false
		compare(key, before.Objects[key], object, func(path string, _, now any) {
			shows = shows || !derived.MatchString(path) && contains(now, value)
		})
		if shows || hasField(object, field, value) {
			return true
		}
	}
	return false
}

// hasField reports whether an object has, at any depth, a field of the name that contains the value.
func hasField(in any, field string, value any) bool {
	switch v := in.(type) {
	case map[string]any:
		for key, item := range v {
			if key == field && contains(item, value) || hasField(item, field, value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return hasField(item, field, value) })
	}
	return false
}

// contains reports whether one value contains another: as a whole, or all of its parts.
func contains(in, value any) bool {
	parts := partsOf(value)
	if parts == nil {
		return holds(in, value)
	}
	return !slices.ContainsFunc(parts, func(part any) bool { return !contains(in, part) })
}

// partsOf returns the keys and items of a value; nil: the value has none.
func partsOf(value any) []any {
	switch v := value.(type) {
	case map[string]any:
		parts := []any{}
		for key, item := range v {
			// The API server treats null as an absent field.
			if item != nil {
				parts = append(parts, key, item)
			}
		}
		return parts
	case []any:
		return append([]any{}, v...)
	}
	return nil
}

// holds reports whether a value contains a scalar at any depth.
func holds(in, value any) bool {
	if parts := partsOf(in); parts != nil {
		return slices.ContainsFunc(parts, func(part any) bool { return holds(part, value) })
	}
	return containsText(fmt.Sprint(in), plainText(value), value)
}

// containsText reports whether a text contains a value. A number must not be a part of a longer one.
func containsText(text, part string, value any) bool {
	if _, isText := value.(string); isText {
		return strings.Contains(text, part) || sameQuantity(text, part)
	}
	return regexp.MustCompile(`(^|[^\d])` + regexp.QuoteMeta(part) + `($|[^\d])`).MatchString(text)
}

func sameQuantity(a, b string) bool {
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}

// plainText returns a value as text; a number has no exponent.
func plainText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
