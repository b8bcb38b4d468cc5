package conversion

import (
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// piece is a schema without those of the items of its lists, and of the values of its maps. Each of these is validated by itself,
// until there is a violation: the validator of the API server compares every violation in a value with all others, so a list of
// 50,000 invalid items would take it an hour.
type piece struct {
	validator   validation.SchemaValidator
	collections []collection
}

// collection is a list or a map in a piece.
type collection struct {
	path []string
	// each is the piece of its items or values.
	each *piece
}

func compilePiece(props *apiextensions.JSONSchemaProps) (*piece, error) {
	whole, p := props.DeepCopy(), &piece{}
	if err := p.takeCollections(whole, nil); err != nil {
		return nil, err
	}
	var err error
	p.validator, _, err = validation.NewSchemaValidator(whole)
	return p, err
}

// takeCollections removes the schemas of items and values from a schema, and keeps their pieces.
func (p *piece) takeCollections(props *apiextensions.JSONSchemaProps, path []string) error {
	if props.Items != nil && props.Items.Schema != nil {
		if err := p.take(props.Items.Schema, path); err != nil {
			return err
		}
		props.Items = nil
	}
	if values := props.AdditionalProperties; values != nil && values.Schema != nil {
		if err := p.take(values.Schema, path); err != nil {
			return err
		}
		props.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: true}
	}
	for name, below := range props.Properties {
		if err := p.takeCollections(&below, append(path, name)); err != nil {
			return err
		}
		props.Properties[name] = below
	}
	return nil
}

func (p *piece) take(each *apiextensions.JSONSchemaProps, path []string) error {
	compiled, err := compilePiece(each)
	p.collections = append(p.collections, collection{slices.Clone(path), compiled})
	return err
}

// validate returns the violations in the first piece of a value that has any.
func (p *piece) validate(at *field.Path, value any) field.ErrorList {
	if errs := validation.ValidateCustomResource(at, value, p.validator); len(errs) > 0 {
		return errs
	}
	for _, c := range p.collections {
		if errs := c.validate(at, value); len(errs) > 0 {
			return errs
		}
	}
	return nil
}

// validate validates the items or values of a collection in a value, if it has the collection.
func (c collection) validate(at *field.Path, value any) field.ErrorList {
	for _, name := range c.path {
		fields, _ := value.(map[string]any)
		at, value = at.Child(name), fields[name]
	}
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			if errs := c.each.validate(at.Index(i), item); len(errs) > 0 {
				return errs
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if errs := c.each.validate(at.Child(name), value[name]); len(errs) > 0 {
				return errs
			}
		}
	}
	return nil
}
