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

// Names are those of the objects.
func (p *Picture) Names() string {
	return strings.Join(slices.Sorted(maps.Keys(p.Objects)), ", ")
}

// Equal tells whether two values out of JSON are the same.
func Equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// Shows tells whether a value that a field was given shows in what has changed between two pictures,
// or in a field of that name. The objects of one kind, to which it was given, are left out, and so are paths that
// match a pattern: a hash says any digit.
func Shows(before, after Picture, without string, derived *regexp.Regexp, field string, value any) bool {
	for key, object := range after.Objects {
		if strings.HasPrefix(key, without+"/") || derived.MatchString(key) {
			continue
		}
		shows := false
		compare(key, before.Objects[key], object, func(path string, _, now any) {
			shows = shows || !derived.MatchString(path) && contains(now, value)
		})
		if shows || named(object, field, value) {
			return true
		}
	}
	return false
}

// named tells whether there is a field of a name that shows a value, anywhere in an object.
func named(in any, field string, value any) bool {
	switch v := in.(type) {
	case map[string]any:
		for key, item := range v {
			if key == field && contains(item, value) || named(item, field, value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return named(item, field, value) })
	}
	return false
}

// contains tells whether a value shows in another one: it is that, or is in it, or all that it
// consists of does.
func contains(in, value any) bool {
	parts := partsOf(value)
	if parts == nil {
		return holds(in, value)
	}
	return !slices.ContainsFunc(parts, func(part any) bool { return !contains(in, part) })
}

// partsOf are the keys and items of a value; nil: it has none.
func partsOf(value any) []any {
	switch v := value.(type) {
	case map[string]any:
		parts := []any{}
		for key, item := range v {
			// To the API server, null is no field.
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

// holds tells whether a single value is somewhere in another one.
func holds(in, value any) bool {
	if parts := partsOf(in); parts != nil {
		return slices.ContainsFunc(parts, func(part any) bool { return holds(part, value) })
	}
	return says(fmt.Sprint(in), plainText(value), value)
}

// says tells whether a text says a value: a number as a word of its own.
func says(text, word string, value any) bool {
	if _, isText := value.(string); isText {
		return strings.Contains(text, word) || sameQuantity(text, word)
	}
	return regexp.MustCompile(`(^|[^\d])` + regexp.QuoteMeta(word) + `($|[^\d])`).MatchString(text)
}

func sameQuantity(a, b string) bool {
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}

// plainText is a value as it is written, without an exponent.
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
