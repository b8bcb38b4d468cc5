package manifests

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func rendered(t *testing.T, o Options) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Render(o)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestRender: every object has the version, and comes after those that it refers to.
func TestRender(t *testing.T) {
	objects := rendered(t, Options{Image: "registry.example.com/nginx-operator:1", Version: "1.2.3", ImagePullSecrets: []string{"a", "b"}})
	var order []string
	for _, object := range objects {
		if object.GetLabels()[VersionLabel] != "1.2.3" {
			t.Errorf("%s %s is of version %q", object.GetKind(), object.GetName(), object.GetLabels()[VersionLabel])
		}
		if !slices.Contains(order, object.GetKind()) {
			order = append(order, object.GetKind())
		}
	}
	if diff := cmp.Diff(append(slices.Clone(kinds), "Deployment"), order); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	pod, _, err := unstructured.NestedMap(objects[len(objects)-1].Object, "spec", "template", "spec")
	if err != nil {
		t.Fatal(err)
	}
	container := pod["containers"].([]any)[0].(map[string]any)
	variables := container["env"].([]any)
	last := variables[len(variables)-1]
	if container["image"] != "registry.example.com/nginx-operator:1" || !cmp.Equal(last, map[string]any{"name": "IMAGE_PULL_SECRETS", "value": "a,b"}) {
		t.Errorf("the container is %v", container)
	}
	if diff := cmp.Diff([]any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}, pod["imagePullSecrets"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLostFields(t *testing.T) {
	definitions, err := Definitions(rendered(t, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	released := definitions[0]
	fields := func(d *apiextensionsv1.CustomResourceDefinition) map[string]apiextensionsv1.JSONSchemaProps {
		return d.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	}
	for name, tt := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   []string
	}{
		"the same": {func(*apiextensionsv1.CustomResourceDefinition) {}, nil},
		"an additional field": {func(d *apiextensionsv1.CustomResourceDefinition) {
			fields(d)["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}, nil},
		"a field": {func(d *apiextensionsv1.CustomResourceDefinition) { delete(fields(d), "image") }, []string{"v1alpha2 spec.image"}},
		"a field of a list": {func(d *apiextensionsv1.CustomResourceDefinition) {
			delete(fields(d)["ports"].Items.Schema.Properties, "protocol")
		}, []string{"v1alpha2 spec.ports[].protocol"}},
		"a version":                    {func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions = d.Spec.Versions[1:] }, []string{"v1alpha1"}},
		"a version that is not served": {func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Served = false }, []string{"v1alpha1"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := released.DeepCopy()
			tt.change(next)
			if diff := cmp.Diff(tt.want, LostFields(released, next)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLostVersions(t *testing.T) {
	installed := &apiextensionsv1.CustomResourceDefinition{Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1alpha1", "v1alpha2"}}}
	next := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha2"}}}}
	if diff := cmp.Diff([]string{"v1alpha1"}, LostVersions(installed, next)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
