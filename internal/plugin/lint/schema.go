package lint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/config/cache"
	"example.com/nginx-operator/config/crd"
)

// kinds are the operator's kinds, with the functions that return their definitions.
var kinds = map[string]*definition{
	"operator.example.com/NginxOperator":            define(crd.NginxOperators),
	"backup.operator.example.com/NginxBackup":       define(crd.NginxBackups),
	"backup.operator.example.com/NginxBackupPolicy": define(crd.NginxBackupPolicies),
	"backup.operator.example.com/NginxRestore":      define(crd.NginxRestores),
	"cache.operator.example.com/NginxCache":         define(cache.NginxCaches),
	"cache.operator.example.com/NginxCachePurge":    define(cache.NginxCachePurges),
}

// definition is the CustomResourceDefinition of a kind. Its versions are compiled when they are needed.
type definition struct {
	read func() (map[string]*apiextensionsv1.JSONSchemaProps, error)
}

func define(text []byte) *definition {
	return &definition{read: sync.OnceValues(func() (map[string]*apiextensionsv1.JSONSchemaProps, error) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			return nil, fmt.Errorf("read the embedded CustomResourceDefinition: %w", err)
		}
		versions := map[string]*apiextensionsv1.JSONSchemaProps{}
		for _, v := range crd.Spec.Versions {
			versions[v.Name] = v.Schema.OpenAPIV3Schema
		}
		return versions, nil
	})}
}

// object is a version of a kind, compiled.
type object struct {
	structural *schema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
}

// compile compiles a version. Without one of that name, it returns nil and the names of those that there are.
func (d *definition) compile(version string) (*object, []string, error) {
	versions, err := d.read()
	if err != nil {
		return nil, nil, err
	}
	props := versions[version]
	if props == nil {
		return nil, slices.Sorted(maps.Keys(versions)), nil
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, nil, err
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return nil, nil, err
	}
	values, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, nil, err
	}
	return &object{structural, values, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil, nil
}

// validate returns what the API server would refuse in a new object. It sets defaults in it, and removes unknown fields.
func (o *object) validate(ctx context.Context, m *manifest) []Problem {
	delete(m.content, "status") // The API server drops it, as it is a subresource.
	var problems []Problem
	options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	for _, path := range pruning.PruneWithOptions(m.content, o.structural, true, options) {
		problems = append(problems, m.problem(path, "there is no such field%s", o.suggestion(path)))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(m.content, o.structural)
	defaulting.Default(m.content, o.structural)
	errs := m.validateMetadata()
	errs = append(errs, validation.ValidateCustomResource(nil, m.content, o.values)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, o.structural, m.content)...)
	if len(errs) == 0 {
		// Rules expect values that the schema allows.
		errs, _ = o.rules.Validate(ctx, nil, o.structural, m.content, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, err := range errs {
		problems = append(problems, m.problem(strings.TrimPrefix(err.Field, "."), "%s", err.ErrorBody()))
	}
	return problems
}

// validateMetadata checks the metadata as for all kinds.
func (m *manifest) validateMetadata() field.ErrorList {
	path := field.NewPath("metadata")
	fields, ok := m.content["metadata"].(map[string]any)
	if !ok {
		return field.ErrorList{field.Required(path.Child("name"), "the object needs a name")}
	}
	if prefix, _ := fields["generateName"].(string); prefix != "" && m.name() == "" {
		fields["name"] = prefix + "00000" // The API server completes the name before it validates the object.
	}
	meta := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, meta, true); err != nil {
		return field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	if meta.Namespace == "" {
		meta.Namespace = metav1.NamespaceDefault
	}
	return apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, path)
}

// suggestion names the field that a user may have meant.
func (o *object) suggestion(path string) string {
	parent, name := "", path
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		parent, name = path[:at], path[at+1:]
	}
	best, distance := "", 1+len(name)/3
	for known := range o.properties(parent) {
		if d := edits(strings.ToLower(name), strings.ToLower(known)); d <= distance && (d < distance || best == "" || known < best) {
			best, distance = known, d
		}
	}
	if best == "" {
		return ""
	}
	return ": is " + best + " meant?"
}

// properties returns the fields of the value at a path.
func (o *object) properties(path string) map[string]schema.Structural {
	at := o.structural
	for name := range strings.SplitSeq(path, ".") {
		name, index, _ := strings.Cut(name, "[")
		if name != "" {
			next, ok := at.Properties[name]
			if !ok {
				return nil
			}
			at = &next
		}
		if index != "" && at.Items != nil {
			at = at.Items
		}
	}
	return at.Properties
}

// edits returns the number of letters to insert, remove or replace to make one word of the other.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
