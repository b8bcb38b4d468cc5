// Package quantities finds texts in a spec that must not be parsed as Kubernetes quantities: for "1e-99999999999",
// resource.Quantity computes a power of ten until the memory is used up. The API server refuses such texts by the
// schema. Specs that arrive in other ways (an annotation, an archive) are checked here before they are decoded.
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
)

// Schema finds the quantities in objects of one version of a kind.
type Schema struct {
	spec func() (*node, error)
}

// NewSchema returns the schema of a version in a CustomResourceDefinition, which it parses when it is first needed.
func NewSchema(definition []byte, version string) *Schema {
	return &Schema{spec: sync.OnceValues(func() (*node, error) { return specOf(definition, version) })}
}

// CheckSpec checks a spec as JSON. The error names the field that holds no quantity.
//
// It reads the text itself, because decoders differ: some accept a name in any case, and read all values of a name
// that appears twice. None of these may pass.
func (s *Schema) CheckSpec(spec []byte) error {
	fields, err := s.spec()
	if err != nil {
		return err
	}
	return fields.checkJSON(spec, "spec")
}

// CheckObject checks the spec of an object.
func (s *Schema) CheckObject(object []byte) error {
	fields, err := s.spec()
	if err != nil {
		return err
	}
	whole := &node{fields: map[string]*node{"spec": fields}}
	return whole.checkJSON(object, "")
}

// node is a part of the schema with quantities below it; nil if there are none.
type node struct {
	fields map[string]*node
	// each is the node of all items of a list, or of all values of a map.
	each *node
	// quantity is the form that texts must have; nil if it is no quantity.
	quantity *regexp.Regexp
}

func specOf(definition []byte, version string) (*node, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(definition, crd); err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			return of(new(v.Schema.OpenAPIV3Schema.Properties["spec"]))
		}
	}
	return nil, fmt.Errorf("the CustomResourceDefinition has no version %s", version)
}

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

// checkJSON reads a text, which may not be JSON. root is the name of the value; empty: it has none.
func (n *node) checkJSON(text []byte, root string) error {
	if err := json.Unmarshal(text, &json.RawMessage{}); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return n.check(d, &place{name: root})
}

// place is where a value is. Its text is built only for an error: all places on the way to a value exist at the same time,
// and a name can have 100 KB.
type place struct {
	// in is the object or the list that contains the value; nil: none does.
	in *place
	// name is the field. It is empty for an item of a list, which has the index.
	name  string
	index int
}

// String implements fmt.Stringer. It cuts names.
func (p *place) String() string {
	var text string
	for ; p != nil; p = p.in {
		switch {
		case p.name == "" && p.in == nil: // It has no name.
		case p.name == "":
			text = fmt.Sprintf("[%d]%s", p.index, text)
		default:
			text = fmt.Sprintf(".%.100s%s", p.name, text)
		}
	}
	return strings.TrimPrefix(text, ".")
}

// check checks the next value.
func (n *node) check(d *json.Decoder, at *place) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case string, json.Number:
		if text := fmt.Sprint(token); n != nil && n.quantity != nil && !n.quantity.MatchString(text) {
			return fmt.Errorf("%s: %.40q is not a quantity, such as 100m, 1.5 or 2Gi", at, text)
		}
	case json.Delim:
		for i := 0; d.More(); i++ {
			if err := n.checkNext(d, token, i, at); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

// checkNext checks the next field of an object, or the next item of a list.
func (n *node) checkNext(d *json.Decoder, in json.Delim, i int, at *place) error {
	if in == '[' {
		return n.item().check(d, &place{in: at, index: i})
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	name, _ := token.(string) // JSON has no other names.
	return n.field(name).check(d, &place{in: at, name: name})
}

func (n *node) item() *node {
	if n == nil {
		return nil
	}
	return n.each
}

// field returns the node of a name, in any case.
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
