package conversion

import (
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// piece is a schema without those of the items of its lists. Each item is validated by itself, until there is a violation: the
// validator of the API server compares every violation in a value with all others, so a list of 50,000 invalid items would
// take it an hour.
type piece struct {
	validator validation.SchemaValidator
	lists     []list
}

// list is a list in a piece.
type list struct {
	// path leads to the list. An empty name stands for every name of a map.
	path  []string
	items *piece
}

func compilePiece(props *apiextensions.JSONSchemaProps) (*piece, error) {
	whole, p := props.DeepCopy(), &piece{}
	if err := p.takeItems(whole, nil); err != nil {
		return nil, err
	}
	var err error
	p.validator, _, err = validation.NewSchemaValidator(whole)
	return p, err
}

// takeItems removes the schemas of the items of all lists from a schema, and keeps their pieces.
func (p *piece) takeItems(props *apiextensions.JSONSchemaProps, path []string) error {
	if props.Items != nil && props.Items.Schema != nil {
		items, err := compilePiece(props.Items.Schema)
		if err != nil {
			return err
		}
		p.lists, props.Items = append(p.lists, list{slices.Clone(path), items}), nil
	}
	for name, below := range props.Properties {
		if err := p.takeItems(&below, append(path, name)); err != nil {
			return err
		}
		props.Properties[name] = below
	}
	if each := props.AdditionalProperties; each != nil && each.Schema != nil {
		return p.takeItems(each.Schema, append(path, ""))
	}
	return nil
}

// validate returns the violations in the first piece of a value that has any.
func (p *piece) validate(at *field.Path, value any) field.ErrorList {
	if errs := validation.ValidateCustomResource(at, value, p.validator); len(errs) > 0 {
		return errs
	}
	for _, l := range p.lists {
		if errs := l.validate(at, value, l.path); len(errs) > 0 {
			return errs
		}
	}
	return nil
}

// validate validates the items of the lists that a path leads to.
func (l list) validate(at *field.Path, value any, path []string) field.ErrorList {
	if len(path) == 0 {
		items, _ := value.([]any) // The list may be missing.
		for i, item := range items {
			if errs := l.items.validate(at.Index(i), item); len(errs) > 0 {
				return errs
			}
		}
		return nil
	}
	fields, _ := value.(map[string]any)
	names := []string{path[0]}
	if path[0] == "" {
		names = slices.Sorted(maps.Keys(fields))
	}
	for _, name := range names {
		if errs := l.validate(at.Child(name), fields[name], path[1:]); len(errs) > 0 {
			return errs
		}
	}
	return nil
}
