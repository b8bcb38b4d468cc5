package podtemplate

import (
	"fmt"
	"reflect"
	"testing"

	"sigs.k8s.io/randfill"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
)

// TestIdentityCoversEveryPodField: each field that changes the pods, however deep, also changes the
// identity of their revision. Otherwise the operator would keep the old pods.
func TestIdentityCoversEveryPodField(t *testing.T) {
	changing := map[string]bool{}
	for seed := range int64(8) {
		nginx := application()
		randfill.NewWithSeed(seed).NilChance(0.1).NumElements(1, 2).MaxDepth(12).Fill(&nginx.Spec)
		template, inputs := identities(t, nginx)
		eachField(reflect.ValueOf(&nginx.Spec).Elem(), "spec", func(path string) {
			changedTemplate, changedInputs := identities(t, nginx)
			if changedTemplate == template {
				return
			}
			changing[path] = true
			if changedInputs == inputs {
				t.Errorf("%s changes the pods, but not the identity of their revision: history.Inputs forgets it", path)
			}
		})
	}
	if len(changing) < 50 || !changing["spec.podTemplate.nodeSelector"] {
		t.Errorf("%d fields change the pods, which are too few to be true: %v", len(changing), changing)
	}
}

// identities returns the hash of the template and the hash of the revision's inputs.
func identities(t *testing.T, nginx *v1alpha2.NginxOperator) (template, inputs string) {
	t.Helper()
	built, err := Build(nginx, options)
	if err != nil {
		t.Fatal(err)
	}
	if inputs, err = history.Hash(history.Inputs(&nginx.Spec)); err != nil {
		t.Fatal(err)
	}
	return Hash(built), inputs
}

// eachField unsets one field of a value after the other, calls check, and restores the field.
func eachField(v reflect.Value, path string, check func(path string)) {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		eachField(v.Elem(), path, check)
	}
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			eachField(v.Index(i), path+"[]", check)
		}
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		if !field.CanSet() || field.IsZero() {
			continue
		}
		at := fmt.Sprintf("%s.%c%s", path, name[0]|0x20, name[1:])
		before := reflect.New(field.Type()).Elem()
		before.Set(field)
		field.SetZero()
		check(at)
		field.Set(before)
		eachField(field, at, check)
	}
}
