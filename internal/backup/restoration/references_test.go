package restoration

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// TestEveryReference: a backup has every object that a field of the API can refer to, and a restore under another name
// updates every reference. Secrets are listed only: restores never rename them. There are no exceptions.
func TestEveryReference(t *testing.T) {
	found := map[string]int{}
	spec := &v1alpha2.NginxOperatorSpec{}
	eachReference(t, reflect.ValueOf(spec).Elem(), place{}, func(at place, name reflect.Value) {
		kind := at.refersTo()
		found[kind]++
		name.SetString("reference")
		if !isSaved(spec, kind) {
			t.Errorf("a backup does not have the %s of %s: add it to the references of a snapshot", kind, at.path)
		}
		if kind == "Secret" {
			return
		}
		m := &builder{Request: Request{Claims: map[string]string{"reference": "other"}}, references: map[string]string{"reference": "other"}}
		if m.refer(spec); name.String() != "other" {
			t.Errorf("a restore under another name keeps the %s of %s: add it to refer.go", kind, at.path)
		}
	})
	if found["ConfigMap"] < 11 || found["Secret"] < 14 || found["PersistentVolumeClaim"] < 2 {
		t.Errorf("there are %v references, which are too few to be true", found)
	}
}

// isSaved reports whether a backup has an object. Of claims, it has the files.
func isSaved(spec *v1alpha2.NginxOperatorSpec, kind string) bool {
	switch kind {
	case "ConfigMap":
		return slices.Contains(snapshot.ConfigMaps(spec), "reference")
	case "Secret":
		return slices.ContainsFunc(snapshot.Secrets(spec), func(s snapshot.Secret) bool { return s.Name == "reference" })
	default:
		return slices.ContainsFunc(snapshot.Volumes(spec), func(v snapshot.Volume) bool { return v.Claim == "reference" })
	}
}

// place is a field of the API: its path, and the names of the fields and types on the way to it.
type place struct {
	path  string
	words []string
}

func (p place) in(words ...string) place {
	return place{p.path, append(slices.Clone(p.words), words...)}
}

func (p place) field(f reflect.StructField) place {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return p
	}
	return place{strings.TrimPrefix(p.path+"."+name, "."), p.words}.in(name)
}

// refersTo returns the kind of the objects that a field names, or "" if it names none.
func (p place) refersTo() string {
	if field := p.path[strings.LastIndex(p.path, ".")+1:]; field != "name" && !strings.HasSuffix(field, "Name") {
		return ""
	}
	for _, kind := range []string{"ConfigMap", "Secret", "PersistentVolumeClaim"} {
		if slices.ContainsFunc(p.words, func(word string) bool { return strings.Contains(strings.ToLower(word), strings.ToLower(kind)) }) {
			return kind
		}
	}
	return ""
}

// eachReference calls visit for each name of an object in a value. Only the way to that name is set meanwhile.
func eachReference(t *testing.T, v reflect.Value, at place, visit func(place, reflect.Value)) {
	t.Helper()
	at = at.in(v.Type().Name())
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		eachReference(t, v.Elem(), at, visit)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		at.path += "[]"
		eachReference(t, v.Index(0), at, visit)
	case reflect.Struct:
		eachReferenceOfStruct(t, v, at, visit)
	case reflect.Map:
		if elem := v.Type().Elem(); elem.Kind() == reflect.Struct && elem != reflect.TypeFor[resource.Quantity]() {
			t.Errorf("the test does not look for references in the map %s", at.path)
		}
	case reflect.String:
		if at.refersTo() != "" {
			visit(at, v)
		}
	default:
	}
	v.SetZero()
}

func eachReferenceOfStruct(t *testing.T, v reflect.Value, at place, visit func(place, reflect.Value)) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		inner := at.field(f)
		if v.Type() == reflect.TypeFor[corev1.LocalObjectReference]() && inner.refersTo() == "" {
			t.Errorf("the test does not know which kind %s refers to", inner.path)
		}
		eachReference(t, v.Field(i), inner, visit)
	}
}
