package conversion

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/config/crd"
)

// specSchema validates specs like the API server does.
type specSchema struct {
	structural *schema.Structural
	values     *piece
	rules      *cel.Validator
}

// hubSchema is the schema of v1alpha2. It is compiled when the first spec is validated: most
// operators never need it, nor the 3 MiB that it takes.
var hubSchema = sync.OnceValues(func() (*specSchema, error) {
	return compile(v1alpha2.GroupVersion.Version)
})

// compile compiles the spec's schema from a version of the embedded CRD.
func compile(version string) (*specSchema, error) {
	props, err := specProps(version)
	if err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, fmt.Errorf("convert the schema of %s: %w", version, err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", version, err)
	}
	values, err := compilePiece(internal)
	if err != nil {
		return nil, fmt.Errorf("compile the schema of %s: %w", version, err)
	}
	return &specSchema{
		structural: structural,
		values:     values,
		rules:      cel.NewValidator(structural, false, celconfig.PerCallLimit),
	}, nil
}

func specProps(version string) (*apiextensionsv1.JSONSchemaProps, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crd.NginxOperators, definition); err != nil {
		return nil, fmt.Errorf("read the embedded CustomResourceDefinition: %w", err)
	}
	for _, v := range definition.Spec.Versions {
		if v.Name == version {
			props := v.Schema.OpenAPIV3Schema.Properties["spec"]
			return &props, nil
		}
	}
	return nil, fmt.Errorf("the embedded CustomResourceDefinition has no version %s", version)
}

// validate returns the errors that the API server would return for a new object with this spec, or some of them if there are
// many. Like the API server, it first sets the defaults in it.
func (s *specSchema) validate(ctx context.Context, spec map[string]any) field.ErrorList {
	defaulting.PruneNonNullableNullsWithoutDefaults(spec, s.structural)
	defaulting.Default(spec, s.structural)
	path := field.NewPath("spec")
	errs := s.values.validate(path, spec)
	if len(errs) > 0 {
		return errs
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(path, s.structural, spec)...)
	if len(errs) > 0 {
		// Rules expect values that the schema allows.
		return errs
	}
	errs, _ = s.rules.Validate(ctx, path, s.structural, spec, nil, celconfig.RuntimeCELCostBudget)
	return errs
}
