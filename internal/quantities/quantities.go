// Package quantities knows which texts of a spec are quantities of Kubernetes that nobody may read as such:
// of "1e-99999999999", resource.Quantity computes a power of ten until the memory is used up. The API server
// refuses them by the schema; what comes on other ways (an annotation, an archive) is looked at here, before
// it is decoded.
package quantities

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/config/crd"
)

// Check looks at a spec of v1alpha2 as JSON. The error names the field that holds no quantity.
func Check(spec []byte) error {
	var value any
	if err := json.Unmarshal(spec, &value); err != nil {
		return err
	}
	fields, err := ofSpec()
	if err != nil {
		return err
	}
	return fields.check(value, "spec")
}

// node is a part of the schema that quantities are below; nil: none are.
type node struct {
	fields map[string]*node
	// each is for all items of a list, or all values of a map.
	each *node
	// quantity is the form that texts have; nil: it is none.
	quantity *regexp.Regexp
}

var ofSpec = sync.OnceValues(func() (*node, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crd.NginxOperators, definition); err != nil {
		return nil, fmt.Errorf("read the embedded CustomResourceDefinition: %w", err)
	}
	for _, v := range definition.Spec.Versions {
		if v.Name == v1alpha2.GroupVersion.Version {
			return of(new(v.Schema.OpenAPIV3Schema.Properties["spec"]))
		}
	}
	return nil, fmt.Errorf("the embedded CustomResourceDefinition has no version %s", v1alpha2.GroupVersion.Version)
})

func of(props *apiextensionsv1.JSONSchemaProps) (*node, error) {
	if props.XIntOrString && props.Pattern != "" {
		form, err := regexp.Compile(props.Pattern)
		return &node{quantity: form}, err
	}
	found := &node{fields: map[string]*node{}}
	for name := range props.Properties {
		below, err := of(new(props.Properties[name]))
		if err != nil {
			return nil, err
		}
		if below != nil {
			found.fields[name] = below
		}
	}
	var err error
	switch {
	case props.Items != nil && props.Items.Schema != nil:
		found.each, err = of(props.Items.Schema)
	case props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil:
		found.each, err = of(props.AdditionalProperties.Schema)
	}
	if len(found.fields) == 0 && found.each == nil {
		return nil, err
	}
	return found, err
}

func (n *node) check(value any, path string) error {
	if n == nil {
		return nil
	}
	switch value := value.(type) {
	case string:
		if n.quantity != nil && !n.quantity.MatchString(value) {
			return fmt.Errorf("%s: %.40q is no quantity, such as 100m, 1.5 or 2Gi", path, value)
		}
	case map[string]any:
		for name, v := range value {
			below := n.fields[name]
			if below == nil {
				below = n.each
			}
			if err := below.check(v, path+"."+name); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range value {
			if err := n.each.check(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}
