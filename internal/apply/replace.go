package apply

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/observe"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// replacements is a JSON patch that puts right in the live object what server-side
// apply cannot merge the intent with; nil when there is no such thing.
//
// Kubernetes merges lists of ports by number and protocol. When somebody has
// changed the number of one of our ports, applying ours adds it beside the changed
// one, and the API server refuses two ports of one name.
func replacements(intent map[string]any, live observe.Object) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, err
	}
	steps := replaceIn("", intent, fields)
	if len(steps) == 0 {
		return nil, nil
	}
	// Indexes hold for this version of the object only.
	version := operation{"test", "/metadata/resourceVersion", live.GetResourceVersion()}
	return json.Marshal(append([]operation{version}, steps...))
}

func replaceIn(path string, intent, live map[string]any) []operation {
	var steps []operation
	for key, want := range intent {
		at := path + "/" + key
		switch want := want.(type) {
		case map[string]any:
			if have, ok := live[key].(map[string]any); ok {
				steps = append(steps, replaceIn(at, want, have)...)
			}
		case []any:
			have, _ := live[key].([]any)
			switch key {
			case "ports":
				steps = append(steps, replacePorts(at, want, have)...)
			case "containers":
				steps = append(steps, replaceInContainers(at, want, have)...)
			}
		}
	}
	return steps
}

// replacePorts puts our port in the place of one that has its name and not its key.
func replacePorts(path string, want, have []any) []operation {
	var steps []operation
	for i, item := range have {
		port, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if ours := named(port["name"], want); ours != nil && !hasKeyOf(port, want) {
			steps = append(steps, operation{"replace", fmt.Sprintf("%s/%d", path, i), ours})
		}
	}
	return steps
}

func replaceInContainers(path string, want, have []any) []operation {
	var steps []operation
	for i, item := range have {
		container, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if ours := named(container["name"], want); ours != nil {
			steps = append(steps, replaceIn(fmt.Sprintf("%s/%d", path, i), ours, container)...)
		}
	}
	return steps
}

// named is the item of a list that has a name, nil if none has.
func named(name any, items []any) map[string]any {
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && m["name"] == name {
			return m
		}
	}
	return nil
}

// hasKeyOf tells whether one of our ports would be merged with port.
func hasKeyOf(port map[string]any, want []any) bool {
	for _, item := range want {
		w, ok := item.(map[string]any)
		if ok && scalarsEqual(w["port"], port["port"]) && scalarsEqual(w["containerPort"], port["containerPort"]) &&
			scalarsEqual(w["protocol"], port["protocol"]) {
			return true
		}
	}
	return false
}
