package importer

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/plugin/encode"
)

// Write writes the manifests as yaml or json: what other objects refer to first.
func (r *Result) Write(w io.Writer, format string) error {
	objects, err := r.objects()
	if err != nil {
		return err
	}
	if format == "json" {
		list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
		return encode.JSON(w, list, "    ")
	}
	for i, object := range objects {
		text, err := encode.YAML(object)
		if err != nil {
			return err
		}
		separator := ""
		if i > 0 {
			separator = "---\n"
		}
		if _, err := fmt.Fprintf(w, "%s%s", separator, text); err != nil {
			return err
		}
	}
	return nil
}

// objects returns the manifests without fields that only the API server sets.
func (r *Result) objects() ([]map[string]any, error) {
	var all []any
	for _, c := range r.ConfigMaps {
		all = append(all, c)
	}
	for _, a := range r.Applications {
		all = append(all, a)
	}
	var objects []map[string]any
	for _, o := range all {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, err
		}
		delete(object, "status")
		if metadata, ok := object["metadata"].(map[string]any); ok {
			delete(metadata, "creationTimestamp")
		}
		objects = append(objects, object)
	}
	return objects, nil
}
