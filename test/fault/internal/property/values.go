package property

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// candidate is a change that a field can get.
type candidate struct {
	what  string
	value any
	unset bool
}

// long is the length of a text without a limit, and many the number of items for a list or map
// without one.
const (
	long = 300
	many = 130
)

// candidates returns the changes for a field.
func candidates(p place) []candidate {
	var all []candidate
	if p.there {
		all = append(all, candidate{what: "unset", unset: true})
	}
	switch s := p.schema; {
	case s.XIntOrString:
		all = append(all, numbersOrTexts(p)...)
	case s.Type == "integer" || s.Type == "number":
		all = append(all, numbers(p)...)
	case s.Type == "boolean":
		all = append(all, candidate{what: "true", value: true}, candidate{what: "false", value: false})
	case s.Type == "string":
		all = append(all, texts(p)...)
	case s.Items != nil:
		all = append(all, lists(p)...)
	case s.AdditionalProperties != nil:
		all = append(all, dictionaries(p)...)
	}
	return differing(p, all)
}

// differing removes candidates that change nothing, and duplicates.
func differing(p place, all []candidate) []candidate {
	seen := map[string]bool{candidateKey(candidate{unset: !p.there, value: p.value}): true}
	return slices.DeleteFunc(all, func(c candidate) bool {
		before := seen[candidateKey(c)]
		seen[candidateKey(c)] = true
		return before
	})
}

func candidateKey(c candidate) string {
	if c.unset {
		return ""
	}
	written, err := json.Marshal(c.value)
	if err != nil {
		panic(err) // the value was decoded from JSON
	}
	return string(written)
}

func numbers(p place) []candidate {
	s := p.schema
	least, most := int64(0), int64(math.MaxInt32)
	if s.Minimum != nil {
		least = int64(*s.Minimum)
	}
	if s.Maximum != nil {
		most = int64(*s.Maximum)
	}
	other := least + 1
	if now, ok := number(p.value); ok {
		other = min(now+1, most)
	}
	all := []candidate{
		{what: "other", value: other}, {what: "min", value: least}, {what: "max", value: most},
		{what: "min-1", value: least - 1}, {what: "max+1", value: most + 1},
	}
	return append(all, defaulted(s)...)
}

func number(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	}
	return 0, false
}

func defaulted(s *apiextensionsv1.JSONSchemaProps) []candidate {
	if s.Default == nil {
		return nil
	}
	var value any
	if err := json.Unmarshal(s.Default.Raw, &value); err != nil {
		panic(err) // the API server has accepted it
	}
	return []candidate{{what: "default", value: value}}
}

func numbersOrTexts(p place) []candidate {
	all := []candidate{
		{what: "0", value: int64(0)}, {what: "1", value: int64(1)}, {what: "-1", value: int64(-1)},
		{what: "huge", value: int64(math.MaxInt64)}, {what: "percent", value: "50%"}, {what: "too-many-percent", value: "101%"},
		{what: "quantity", value: "1500m"}, {what: "words", value: "a few"}, {what: "empty", value: ""},
	}
	return append(all, defaulted(p.schema)...)
}

func texts(p place) []candidate {
	s := p.schema
	now, ok := p.value.(string)
	if !ok {
		now = "x"
	}
	var all []candidate
	for _, value := range s.Enum {
		var text string
		if json.Unmarshal(value.Raw, &text) == nil {
			all = append(all, candidate{what: "enum-" + text, value: text})
		}
	}
	if len(s.Enum) == 0 {
		all = append(all, other(s, now)...)
	}
	most := long
	if s.MaxLength != nil {
		most = int(*s.MaxLength)
	}
	return append(append(all,
		candidate{what: "longest", value: stretched(now, most)},
		candidate{what: "too-long", value: stretched(now, most+1)},
		candidate{what: "empty", value: ""},
		candidate{what: "unicode", value: now + "\u00e9\u202e\U0001F600"},
		candidate{what: "newline", value: now + "\nx"},
		candidate{what: "syntax", value: now + `;{}$#'"\`},
	), defaulted(s)...)
}

// stretched returns a text that is cut or extended to a length.
func stretched(text string, length int) string {
	if len(text) >= length {
		return text[:length]
	}
	return text + strings.Repeat("x", length-len(text))
}

// other returns another text that the schema allows.
func other(s *apiextensionsv1.JSONSchemaProps, now string) []candidate {
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return nil // Go cannot compile the pattern
	}
	for _, value := range []string{now + "-2", now + "2", "x" + now} {
		if pattern.MatchString(value) && (s.MaxLength == nil || len(value) <= int(*s.MaxLength)) {
			return []candidate{{what: "other", value: value}}
		}
	}
	return nil
}

func lists(p place) []candidate {
	now, ok := p.value.([]any)
	all := []candidate{{what: "empty", value: []any{}}}
	if !ok || len(now) == 0 {
		return all
	}
	reversed := slices.Clone(now)
	slices.Reverse(reversed)
	return append(all,
		candidate{what: "reversed", value: reversed},
		candidate{what: "first-twice", value: slices.Concat(now[:1], now)},
		candidate{what: "without-first", value: slices.Clone(now[1:])},
		candidate{what: "too-many", value: slices.Repeat(now[:1], count(p.schema.MaxItems))},
	)
}

// count returns one more than the limit.
func count(most *int64) int {
	if most == nil {
		return many
	}
	return int(*most) + 1
}

func dictionaries(p place) []candidate {
	all := []candidate{{what: "empty", value: map[string]any{}}}
	now, ok := p.value.(map[string]any)
	if !ok || len(now) == 0 || !scalar(p.schema.AdditionalProperties.Schema) {
		return all
	}
	sample := now[slices.Sorted(maps.Keys(now))[0]]
	with := func(more ...string) map[string]any {
		grown := maps.Clone(now)
		for _, key := range more {
			grown[key] = sample
		}
		return grown
	}
	var names []string
	for i := range count(p.schema.MaxProperties) {
		names = append(names, fmt.Sprintf("added-%d", i))
	}
	return append(all,
		candidate{what: "one-more", value: with("added")},
		candidate{what: "key-with-syntax", value: with(`a;{}$#'"`)},
		candidate{what: "key-of-the-operator", value: with("operator.example.com/config")},
		candidate{what: "too-many", value: with(names...)},
	)
}
