//go:build e2e && exposure

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crds "example.com/nginx-operator/test/external"
)

// TestDefinitions: the definitions of test/external, with which other tests run, agree with the original ones in all the
// fields that they have.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	for _, definition := range []func() (*apiextensionsv1.CustomResourceDefinition, error){crds.HTTPRoutes, crds.Certificates} {
		ours, err := definition()
		must(t, err)
		t.Run(ours.Name, func(t *testing.T) {
			t.Parallel()
			original := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: ours.Name}}
			must(t, get(t, original))
			checkSchema(t, "", schemaOf(t, ours), schemaOf(t, original))
		})
	}
}

func schemaOf(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	for _, v := range definition.Spec.Versions {
		if v.Name == "v1" && v.Served {
			return v.Schema.OpenAPIV3Schema
		}
	}
	t.Fatalf("%s does not serve v1", definition.Name)
	return nil
}

// checkSchema compares the fields that ours has. The original may have further fields, but none that is required.
func checkSchema(t *testing.T, path string, ours, original *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if diff := cmp.Diff(limits(ours), limits(original)); diff != "" {
		t.Errorf("%s differs from the original (-ours, +original):\n%s", path, diff)
	}
	for name, field := range ours.Properties {
		of, found := original.Properties[name]
		if !found {
			t.Errorf("the original has no field %s.%s", path, name)
			continue
		}
		checkSchema(t, path+"."+name, &field, &of)
	}
	if ours.Items != nil && original.Items != nil {
		checkSchema(t, path+"[]", ours.Items.Schema, original.Items.Schema)
	}
}

// limits returns what a schema says of a value, without its fields and the rules about filters, which ours lacks.
func limits(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	own := schema.DeepCopy()
	own.Description, own.Properties, own.Items, own.XValidations = "", nil, nil, nil
	own.Required = slices.Sorted(slices.Values(own.Required))
	for _, rule := range schema.XValidations {
		if !strings.Contains(rule.Rule, "filters") {
			text := strings.Join(strings.Fields(rule.Rule), " ")
			own.XValidations = append(own.XValidations, apiextensionsv1.ValidationRule{Rule: text, Message: rule.Message})
		}
	}
	return own
}
