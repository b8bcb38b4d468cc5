package project

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Object is a manifest.
type Object map[string]any

// Kind returns the kind of the object.
func (o Object) Kind() string { return o.text("kind") }

// Name returns the name of the object.
func (o Object) Name() string { return o.text("metadata.name") }

// Namespace returns the namespace of the object; empty: none.
func (o Object) Namespace() string { return o.text("metadata.namespace") }

// ID identifies the object within one installation.
func (o Object) ID() string { return o.Kind() + "/" + o.Name() }

// text returns the text at a path, or "" if there is none.
func (o Object) text(path string) string {
	value, _ := o.find(path)
	text, _ := value.(string)
	return text
}

// Get returns the value at a path such as spec.containers.nginx.image. The step to an element of a
// list is its name or its index.
func (o Object) Get(path string) (any, error) {
	value, missing := o.find(path)
	if missing != "" {
		return nil, fmt.Errorf("%s: %s: there is no %s", o.ID(), path, missing)
	}
	return value, nil
}

// Has reports whether there is a value at a path.
func (o Object) Has(path string) bool {
	_, missing := o.find(path)
	return missing == ""
}

// find returns the value at a path, or the step of it that is missing.
func (o Object) find(path string) (value any, missing string) {
	value = map[string]any(o)
	for step := range strings.SplitSeq(path, ".") {
		next, ok := child(value, step)
		if !ok {
			return nil, step
		}
		value = next
	}
	return value, ""
}

func child(value any, step string) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		next, ok := value[step]
		return next, ok
	case []any:
		for i, element := range value {
			if named, ok := element.(map[string]any); strconv.Itoa(i) == step || ok && named["name"] == step {
				return element, true
			}
		}
	}
	return nil, false
}

// Set sets the value at a path whose parent exists.
func (o Object) Set(path string, value any) error {
	parent, key := map[string]any(o), path
	if dot := strings.LastIndex(path, "."); dot >= 0 {
		found, err := o.Get(path[:dot])
		if err != nil {
			return err
		}
		m, ok := found.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %s is not a mapping", o.ID(), path[:dot])
		}
		parent, key = m, path[dot+1:]
	}
	parent[key] = value
	return nil
}

// Delete removes the value at a path, if there is one.
func (o Object) Delete(path string) {
	dot := strings.LastIndex(path, ".")
	if dot < 0 {
		delete(o, path)
		return
	}
	if parent, err := o.Get(path[:dot]); err == nil {
		if m, ok := parent.(map[string]any); ok {
			delete(m, path[dot+1:])
		}
	}
}

// AddLabels adds labels to the object.
func (o Object) AddLabels(labels map[string]any) error {
	all := map[string]any{}
	if present, err := o.Get("metadata.labels"); err == nil {
		maps.Copy(all, present.(map[string]any))
	}
	maps.Copy(all, labels)
	return o.Set("metadata.labels", all)
}

// Find returns the object with a kind and name.
func Find(objects []Object, kind, name string) (Object, error) {
	for _, object := range objects {
		if object.Kind() == kind && object.Name() == name {
			return object, nil
		}
	}
	return nil, fmt.Errorf("the manifests have no %s %s", kind, name)
}
