package hostile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/config/cache"
	"example.com/nginx-operator/config/crd"
)

// Field is a field of a schema, with what this package needs of it.
type Field struct {
	// text is set if the field holds text, number if it holds a number, and both if it can hold
	// either.
	text, number bool
	// fields are the fields of an object, items those of a list's items, and values those of a
	// map's values.
	fields        map[string]*Field
	items, values *Field
}

// Specs returns the spec fields of every kind, from the installed CRDs.
func Specs() (map[Kind]*Field, error) {
	specs := map[Kind]*Field{}
	for _, text := range [][]byte{crd.NginxOperators, crd.NginxBackups, crd.NginxBackupPolicies, crd.NginxRestores, cache.NginxCaches, cache.NginxCachePurges} {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			return nil, fmt.Errorf("read the embedded CustomResourceDefinition: %w", err)
		}
		for _, v := range definition.Spec.Versions {
			spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
			specs[Kind{definition.Spec.Group, v.Name, definition.Spec.Names.Plural, definition.Spec.Names.Kind}] = field(&spec)
		}
	}
	return specs, nil
}

func field(s *apiextensionsv1.JSONSchemaProps) *Field {
	f := &Field{
		text:   s.XIntOrString || s.Type == "string",
		number: s.XIntOrString || s.Type == "integer" || s.Type == "number",
		fields: map[string]*Field{},
	}
	for name := range s.Properties {
		f.fields[name] = field(new(s.Properties[name]))
	}
	if s.Items != nil {
		f.items = field(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		f.values = field(s.AdditionalProperties.Schema)
	}
	return f
}

// Texts returns the sorted paths of all fields below this one that hold text. "[]" stands for the
// items of a list, "{}" for the values of a map, and "{key}" for its keys.
func (f *Field) Texts(path string) []string {
	return f.paths(path, true, func(f *Field) bool { return f.text })
}

// Numbers returns the paths of all fields below this one that hold a number.
func (f *Field) Numbers(path string) []string {
	return f.paths(path, false, func(f *Field) bool { return f.number })
}

func (f *Field) paths(path string, keys bool, wanted func(*Field) bool) []string {
	if wanted(f) {
		return []string{path}
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		paths = append(paths, f.fields[name].paths(path+"."+name, keys, wanted)...)
	}
	if f.items != nil {
		paths = append(paths, f.items.paths(path+"[]", keys, wanted)...)
	}
	if f.values != nil && keys {
		paths = append(paths, path+"{key}")
	}
	if f.values != nil {
		paths = append(paths, f.values.paths(path+"{}", keys, wanted)...)
	}
	return paths
}

// injector puts a value into the first field with a path. A text can also replace the key of a map,
// and a field that holds no text is added where it is missing.
type injector struct {
	target string
	value  any
	// done is set when the injector has found the field.
	done bool
}

// into returns a copy of a value with the injected value in its place.
func (in *injector) into(value any, f *Field, path string) any {
	if (f.text || f.number) && path == in.target && !in.done {
		in.done = true
		return in.value
	}
	switch value := value.(type) {
	case map[string]any:
		return in.intoMap(value, f, path)
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = in.into(item, f.items, path+"[]")
		}
		return items
	default:
		return value
	}
}

func (in *injector) intoMap(value map[string]any, f *Field, path string) map[string]any {
	fields := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if f.values == nil {
			fields[name] = in.into(value[name], f.fields[name], path+"."+name)
			continue
		}
		key := name
		if text, ok := in.value.(string); ok && path+"{key}" == in.target && !in.done {
			key, in.done = text, true
		}
		fields[key] = in.into(value[name], f.values, path+"{}")
	}
	if name, below := strings.CutPrefix(in.target, path+"."); below && f.fields[name] != nil && !in.done && !f.fields[name].text {
		fields[name], in.done = in.value, true
	}
	return fields
}
