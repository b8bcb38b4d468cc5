package crd

import (
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestNumbersHaveBounds: the schemas bound each number of 32 bits. API servers of 1.33 and older do not, and the
// operator cannot read a list with a larger number.
func TestNumbersHaveBounds(t *testing.T) {
	files, err := filepath.Glob("../c*/*.operator.example.com_*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("the CRDs are only %v (%v)", files, err)
	}
	for _, file := range append(files, "operator.example.com_nginxoperators.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		for _, version := range definition.Spec.Versions {
			checkBounds(t, filepath.Base(file)+" "+version.Name, *version.Schema.OpenAPIV3Schema)
		}
	}
}

func checkBounds(t *testing.T, path string, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if schema.Format == "int32" && (schema.Minimum == nil || schema.Maximum == nil || *schema.Minimum < -1<<31 || *schema.Maximum > 1<<31-1) {
		t.Errorf("%s has no bounds: run `make generate`", path)
	}
	for name, property := range schema.Properties {
		checkBounds(t, path+"."+name, property)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		checkBounds(t, path+"[]", *schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		checkBounds(t, path+"{}", *schema.AdditionalProperties.Schema)
	}
}
