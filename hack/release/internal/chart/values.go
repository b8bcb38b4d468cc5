package chart

import (
	"encoding/json"
	"fmt"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

// value is a value of the chart, or a group of them.
type value struct {
	name        string
	description string
	// schema does not contain what the other fields of this struct hold.
	schema map[string]any
	// fallback is the default, group are the values of a group.
	fallback any
	group    []value
}

// addValues adds values.yaml, its schema and the README's table.
func addValues(files map[string]string, p *project.Project, manifests []project.Object) error {
	text, err := staticFS.ReadFile("values.yaml")
	if err != nil {
		return err
	}
	document, err := kyaml.Parse(string(text))
	if err != nil {
		return err
	}
	deployment, err := project.Find(manifests, "Deployment", project.Name)
	if err != nil {
		return err
	}
	console, err := project.Find(manifests, "Deployment", consoleName)
	if err != nil {
		return err
	}
	reader := &reader{image: p.Release.Image, config: map[string]project.Object{"x-config": deployment, "x-console-config": console}}
	values, err := reader.mapping(document)
	if err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	schema := objectSchema(values)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Values of the chart " + project.Name
	// Helm passes these to every chart.
	schema["properties"].(map[string]any)["global"] = map[string]any{"type": "object"}
	encoded, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return err
	}
	files["values.schema.json"] = string(encoded) + "\n"
	if files["values.yaml"], err = defaults(values); err != nil {
		return err
	}
	rows, err := table(values, "")
	if err != nil {
		return err
	}
	files["README.md"] = strings.Replace(files["README.md"], "@VALUES@\n", "| value | what | default |\n|---|---|---|\n"+rows, 1)
	return nil
}

// reader reads the definitions in file order.
type reader struct {
	image string
	// config has the Deployment that each keyword takes defaults from.
	config map[string]project.Object
}

func (r *reader) mapping(node *kyaml.RNode) ([]value, error) {
	var values []value
	err := node.VisitFields(func(field *kyaml.MapNode) error {
		v, err := r.value(field)
		if err != nil {
			return fmt.Errorf("%s: %w", kyaml.GetValue(field.Key), err)
		}
		values = append(values, v)
		return nil
	})
	return values, err
}

func (r *reader) value(field *kyaml.MapNode) (value, error) {
	v := value{name: kyaml.GetValue(field.Key), schema: map[string]any{}}
	if err := field.Value.YNode().Decode(&v.schema); err != nil {
		return v, err
	}
	var ok bool
	if v.description, ok = v.schema["description"].(string); !ok {
		return v, fmt.Errorf("it has no description")
	}
	if _, isType := v.schema["type"]; !isType && v.schema["enum"] == nil {
		var err error
		v.group, err = r.mapping(field.Value.Field("properties").Value)
		return v, err
	}
	return v, r.setDefault(&v)
}

func (r *reader) setDefault(v *value) error {
	v.fallback = v.schema["default"]
	for keyword, deployment := range r.config {
		path, ok := v.schema[keyword].(string)
		if !ok {
			continue
		}
		var err error
		if v.fallback, err = deployment.Get(path); err != nil {
			return err
		}
		delete(v.schema, keyword)
	}
	if v.schema["x-image"] == true {
		v.fallback = r.image
	}
	if v.fallback == nil {
		return fmt.Errorf("it has no default")
	}
	delete(v.schema, "x-image")
	v.schema["default"] = v.fallback
	return nil
}

// objectSchema returns the schema of a group of values.
func objectSchema(values []value) map[string]any {
	properties := map[string]any{}
	for _, v := range values {
		properties[v.name] = v.schema
		if v.group != nil {
			properties[v.name] = objectSchema(v.group)
			properties[v.name].(map[string]any)["description"] = v.description
		}
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}
