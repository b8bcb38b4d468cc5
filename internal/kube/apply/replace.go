package apply

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/kube/owned"
)

// replacements returns a JSON patch that restores the operator's items of lists, and its atomic maps, and removes
// what no other client may add; nil if nothing differs.
//
// Server-side apply merges, and some changes cannot be merged. If the number of a port was changed, the operator's
// port is added beside it, and the API server refuses two ports of one name. If a volume or a probe was changed to
// another type, it refuses two types in one. Fields that others added to such an item are lost, in exchange for an
// object that is as declared.
func (s Settings) replacements(intent owned.Intent, live owned.Object) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, err
	}
	ours, err := significantFields(intent)
	if err != nil {
		return nil, err
	}
	steps := replaceIn(intent.Kind.Schema, "", ours, fields)
	for _, addition := range added(intent, fields) {
		steps = append(steps, addition.removal())
	}
	if len(steps) == 0 {
		return nil, nil
	}
	return json.Marshal(append([]operation{ofVersion(live), s.mark(live)}, steps...))
}

// replaced stands in place of the hash of the intent in an object that was patched. A process that finds it has to
// make the patched fields the operator's by apply, and to apply the intent, neither of which may have happened.
const replaced = "replaced"

// mark returns the operation that marks an object as patched.
func (s Settings) mark(live owned.Object) operation {
	if len(live.GetAnnotations()) == 0 {
		return operation{"add", "/metadata/annotations", map[string]any{s.HashAnnotation: replaced}}
	}
	return operation{"add", "/metadata/annotations/" + pointer(s.HashAnnotation), replaced}
}

func replaceIn(schema *owned.Schema, path string, intent, live map[string]any) []operation {
	var steps []operation
	for key, want := range intent {
		field, at := schema.Field(key), path+"/"+pointer(key)
		switch want := want.(type) {
		case map[string]any:
			have, ok := live[key].(map[string]any)
			switch {
			case ok && field.IsAtomic() && !equal(field, want, have):
				steps = append(steps, operation{"replace", at, want})
			case ok:
				steps = append(steps, replaceIn(field, at, want, have)...)
			}
		case []any:
			if have, ok := live[key].([]any); ok {
				steps = append(steps, replaceItems(field, at, want, have)...)
			}
		}
	}
	return steps
}

// replaceItems replaces an item that has the key of the operator's and differs.
func replaceItems(schema *owned.Schema, path string, want, have []any) []operation {
	var steps []operation
	for i, item := range have {
		live, ok := item.(map[string]any)
		if !ok {
			continue
		}
		key := schema.KeyOf(live)
		if ours := schema.ItemOf(want, key); ours != nil && schema.ItemOf(have, key) != nil && !contains(schema.Each(), ours, live) {
			steps = append(steps, operation{"replace", fmt.Sprintf("%s/%d", path, i), ours})
		}
	}
	return steps
}
