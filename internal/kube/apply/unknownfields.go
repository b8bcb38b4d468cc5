package apply

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// undeclared matches the fields that an older API server does not know, in its refusal of an apply:
// `.spec.template.spec.volumes[name="a"].emptyDir.mode: field not declared in schema`. Other writes drop such fields;
// an apply fails as a whole: https://github.com/kubernetes-sigs/structured-merge-diff, typed/validate.go.
var undeclared = regexp.MustCompile(`(?m)(\.\S(?:[^\n"]|"(?:[^"\\]|\\.)*")*?): field not declared in schema`)

// errEssential means that an item of a list has only its key without the unknown field: a volume without its source
// would become an empty folder.
var errEssential = errors.New("the field is the only content of a list item")

// withoutUndeclared removes from an apply configuration, as JSON, the fields that an API server does not know. It
// returns nil if the error names none that can be left out.
func withoutUndeclared(body []byte, refused error) ([]byte, error) {
	found := undeclared.FindAllStringSubmatch(refused.Error(), -1)
	if len(found) == 0 {
		return nil, nil
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("read the apply configuration: %w", err)
	}
	removed := false
	for _, path := range found {
		steps, err := stepsOf(path[1])
		if err != nil {
			return nil, err
		}
		there, err := removeAt(fields, steps)
		if errors.Is(err, errEssential) {
			return nil, nil
		}
		removed = removed || there
	}
	if !removed {
		return nil, nil
	}
	return json.Marshal(fields)
}

// step is a field of an object, or the item of a list that has these fields.
type step struct {
	field string
	index int
	item  map[string]any
}

// stepsOf parses a path as structured-merge-diff writes it: `.a.b[k="v",n=1].c[0]`.
func stepsOf(path string) ([]step, error) {
	var steps []step
	for rest := path; rest != ""; {
		var s step
		var err error
		if s, rest, err = nextStep(rest); err != nil {
			return nil, fmt.Errorf("the path %s: %w", path, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func nextStep(path string) (step, string, error) {
	if field, ok := strings.CutPrefix(path, "."); ok {
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			end = len(field)
		}
		return step{field: field[:end]}, field[end:], nil
	}
	var s step
	if n, err := fmt.Sscanf(path, "[%d]", &s.index); n == 1 && err == nil {
		return s, path[strings.Index(path, "]")+1:], nil
	}
	s.item = map[string]any{}
	for rest := strings.TrimPrefix(path, "["); ; {
		key, value, ok := strings.Cut(rest, "=")
		if !ok {
			return step{}, "", fmt.Errorf("%q has no key", rest)
		}
		decoder := json.NewDecoder(strings.NewReader(value))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			return step{}, "", err
		}
		s.item[key] = v
		rest = value[decoder.InputOffset():]
		if after, ok := strings.CutPrefix(rest, ","); ok {
			rest = after
			continue
		}
		after, ok := strings.CutPrefix(rest, "]")
		if !ok {
			return step{}, "", fmt.Errorf("%q does not end the key of a list item", rest)
		}
		return s, after, nil
	}
}

// removeAt removes a field, and reports whether it was there.
func removeAt(at any, steps []step) (removed bool, err error) {
	s, rest := steps[0], steps[1:]
	switch at := at.(type) {
	case map[string]any:
		value, there := at[s.field]
		if there && len(rest) > 0 {
			return removeAt(value, rest)
		}
		delete(at, s.field)
		return there, nil
	case []any:
		return removeInItems(at, s, rest)
	}
	return false, nil
}

// removeInItems removes a field from the items that a step selects.
func removeInItems(items []any, s step, rest []step) (removed bool, err error) {
	if len(rest) == 0 {
		return false, nil
	}
	for i, item := range items {
		if !s.selectsItem(i, item) {
			continue
		}
		there, err := removeAt(item, rest)
		if fields, ok := item.(map[string]any); err != nil || there && ok && len(fields) <= len(s.item) {
			return there, cmp.Or(err, errEssential)
		}
		removed = removed || there
	}
	return removed, nil
}

// selectsItem reports whether a step selects an item of a list. A key that is not set has its default there.
func (s step) selectsItem(i int, item any) bool {
	if s.item == nil {
		return s.field == "" && i == s.index
	}
	fields, ok := item.(map[string]any)
	for key, want := range s.item {
		if have, set := fields[key]; set && !scalarsEqual(want, have) {
			return false
		}
	}
	return ok
}
