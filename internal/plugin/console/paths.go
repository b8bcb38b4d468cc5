package console

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var errNamespace = errors.New("namespace must be the name of a namespace, or empty for all of them")

// pathOf returns the path of a resource in the API; an empty namespace stands for all.
func pathOf(namespace, resource string, of schema.GroupVersion) string {
	path := "/apis/" + of.String()
	if of.Group == "" {
		path = "/api/" + of.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + resource
}
