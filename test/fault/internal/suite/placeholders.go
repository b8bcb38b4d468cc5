package suite

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/test/fault/internal/journey"
)

// placeholder matches ${name} and ${Kind/name path.of.a.field}.
var placeholder = regexp.MustCompile(`\$\{([^\s{}]+)(?: ([^\s{}]+))?\}`)

// fill returns a copy of an object's fields in which the placeholders are replaced.
func (s *Stage) fill(ctx context.Context, namespace string, fields map[string]any) (map[string]any, error) {
	all := make(map[string]any, len(fields))
	for key, value := range fields {
		filled, err := s.expandValue(ctx, namespace, value)
		if err != nil {
			return nil, err
		}
		all[key] = filled
	}
	return all, nil
}

func (s *Stage) expandValue(ctx context.Context, namespace string, value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		return s.fill(ctx, namespace, v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			var err error
			if all[i], err = s.expandValue(ctx, namespace, v[i]); err != nil {
				return nil, err
			}
		}
		return all, nil
	case string:
		var errs []error
		text := placeholder.ReplaceAllStringFunc(v, func(found string) string {
			parts := placeholder.FindStringSubmatch(found)
			meant, err := s.meant(ctx, namespace, parts[1], parts[2])
			errs = append(errs, err)
			return meant
		})
		return text, errors.Join(errs...)
	}
	return value, nil
}

// meant returns what a placeholder stands for.
func (s *Stage) meant(ctx context.Context, namespace, name, path string) (string, error) {
	if path == "" {
		text, known := s.Texts[name]
		if !known {
			return "", fmt.Errorf("there is no text %s", name)
		}
		return text, nil
	}
	var o journey.Object
	if err := o.UnmarshalText([]byte(name)); err != nil {
		return "", err
	}
	object, err := s.get(ctx, namespace, o)
	if err != nil {
		return "", err
	}
	if object == nil {
		return "", fmt.Errorf("%s does not exist", &o)
	}
	text, found, err := unstructured.NestedString(object.Object, strings.Split(path, ".")...)
	if err == nil && !found {
		err = fmt.Errorf("%s has no %s", &o, path)
	}
	return text, err
}
