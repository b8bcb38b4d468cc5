// Package quantities knows which texts of a spec are quantities of Kubernetes that nobody may read as such:
// of "1e-99999999999", resource.Quantity computes a power of ten until the memory is used up. The API server
// refuses them by the schema; what comes on other ways (an annotation, an archive) is looked at here, before
// it is decoded.
package quantities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/config/crd"
)

// Check looks at a spec of v1alpha2 as JSON. The error names the field that holds no quantity.
//
// It goes through the text, since decoders differ: some take a name in any case, and of a name that comes twice, all
// are read. None of these may get past.
func Check(spec []byte) error {
	fields, err := ofSpec()
	if err != nil {
		return err
	}
	return fields.read(spec, "spec")
}

// CheckObject looks at the spec of an object.
func CheckObject(object []byte) error {
	fields, err := ofSpec()
	if err != nil {
		return err
	}
	whole := &node{fields: map[string]*node{"spec": fields}}
	return whole.read(object, "")
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

// read goes through a text, which may be no JSON.
func (n *node) read(text []byte, path string) error {
	if err := json.Unmarshal(text, &json.RawMessage{}); err != nil {
		return err
	}
	return n.check(json.NewDecoder(bytes.NewReader(text)), path)
}

// check goes through the next value.
func (n *node) check(d *json.Decoder, path string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case string:
		if n != nil && n.quantity != nil && !n.quantity.MatchString(token) {
			return fmt.Errorf("%s: %.40q is no quantity, such as 100m, 1.5 or 2Gi", path, token)
		}
	case json.Delim:
		for i := 0; d.More(); i++ {
			if err := n.below(d, token, i, path); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

// below checks the next field of an object, or the next item of a list.
func (n *node) below(d *json.Decoder, in json.Delim, i int, path string) error {
	if in == '[' {
		return n.item().check(d, fmt.Sprintf("%s[%d]", path, i))
	}
	name, err := d.Token()
	if err != nil {
		return err
	}
	return n.field(fmt.Sprint(name)).check(d, strings.TrimPrefix(fmt.Sprintf("%s.%s", path, name), "."))
}

func (n *node) item() *node {
	if n == nil {
		return nil
	}
	return n.each
}

// field is that of a name, in any case.
func (n *node) field(name string) *node {
	if n == nil {
		return nil
	}
	for known, below := range n.fields {
		if strings.EqualFold(known, name) {
			return below
		}
	}
	return n.each
}
