package manifests

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Definitions returns the CustomResourceDefinitions among objects.
func Definitions(objects []*unstructured.Unstructured) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
			return nil, err
		}
		found = append(found, definition)
	}
	return found, nil
}

// LostVersions returns the versions that may be stored and that another definition does not have. Their objects could not
// be read any more.
func LostVersions(installed, next *apiextensionsv1.CustomResourceDefinition) []string {
	return slices.DeleteFunc(slices.Clone(installed.Status.StoredVersions), func(name string) bool { return version(next, name) != nil })
}

// LostFields returns the fields of the served versions that another definition does not have, without those below another
// lost field. The API server would drop them from the objects.
func LostFields(installed, next *apiextensionsv1.CustomResourceDefinition) []string {
	var lost []string
	for _, before := range installed.Spec.Versions {
		after := version(next, before.Name)
		if !before.Served || before.Schema == nil {
			continue
		}
		if after == nil || !after.Served || after.Schema == nil {
			lost = append(lost, before.Name)
			continue
		}
		for _, field := range missing(before.Schema.OpenAPIV3Schema, after.Schema.OpenAPIV3Schema) {
			lost = append(lost, before.Name+" "+strings.TrimPrefix(field, "."))
		}
	}
	return lost
}

func version(definition *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range definition.Spec.Versions {
		if definition.Spec.Versions[i].Name == name {
			return &definition.Spec.Versions[i]
		}
	}
	return nil
}

// missing returns the paths of the fields of a schema that another one does not have.
func missing(before, after *apiextensionsv1.JSONSchemaProps) []string {
	if before == nil || after == nil {
		return nil
	}
	var lost []string
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		old := before.Properties[name]
		field, found := after.Properties[name]
		if !found {
			lost = append(lost, "."+name)
			continue
		}
		lost = append(lost, below("."+name, missing(&old, &field))...)
	}
	if before.Items != nil && after.Items != nil {
		lost = append(lost, below("[]", missing(before.Items.Schema, after.Items.Schema))...)
	}
	if before.AdditionalProperties != nil && after.AdditionalProperties != nil {
		lost = append(lost, below(".*", missing(before.AdditionalProperties.Schema, after.AdditionalProperties.Schema))...)
	}
	return lost
}

func below(path string, fields []string) []string {
	for i := range fields {
		fields[i] = path + fields[i]
	}
	return fields
}
