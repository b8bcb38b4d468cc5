package apply

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/kube/owned"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// replacements returns a JSON patch that restores the operator's items of lists, and its atomic maps, and removes
// what no other client may add; nil if nothing differs.
//
// Server-side apply merges, and some changes cannot be merged. If the number of a port was changed, the operator's
// port is added beside it, and the API server refuses two ports of one name. If a volume or a probe was changed to
// another type, it refuses two types in one. Fields that others added to such an item are lost, in exchange for an
// application that is as declared.
func (s Settings) replacements(intent owned.Intent, live owned.Object) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, err
	}
	ours, err := significantFields(intent)
	if err != nil {
		return nil, err
	}
	steps := replaceIn("", ours, fields)
	for _, addition := range added(intent, fields) {
		steps = append(steps, addition.removal())
	}
	if len(steps) == 0 {
		return nil, nil
	}
	return json.Marshal(append([]operation{ofVersion(live), s.mark(live)}, steps...))
}

// ofVersion makes a patch apply to this version of an object only. For another version, the patch is a conflict,
// whereas a failing test operation would look like a refusal.
func ofVersion(live owned.Object) operation {
	return operation{"replace", "/metadata/resourceVersion", live.GetResourceVersion()}
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

// pointer returns a key as it is written in a JSON pointer (RFC 6901).
func pointer(key string) string { return jsonPointerEscaper.Replace(key) }

// jsonPointerEscaper is created once, because creating it costs more than using it.
var jsonPointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func replaceIn(path string, intent, live map[string]any) []operation {
	var steps []operation
	for key, want := range intent {
		at := path + "/" + pointer(key)
		switch want := want.(type) {
		case map[string]any:
			have, ok := live[key].(map[string]any)
			switch {
			case ok && atomicFields[key] && !equal(want, have):
				steps = append(steps, operation{"replace", at, want})
			case ok:
				steps = append(steps, replaceIn(at, want, have)...)
			}
		case []any:
			if have, ok := live[key].([]any); ok {
				steps = append(steps, replaceItems(at, want, have)...)
			}
		}
	}
	return steps
}

// replaceItems replaces an item that has the name of the operator's and differs.
func replaceItems(path string, want, have []any) []operation {
	var steps []operation
	for i, item := range have {
		live, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if ours := named(live["name"], want); ours != nil && !contains(ours, live) {
			steps = append(steps, operation{"replace", fmt.Sprintf("%s/%d", path, i), ours})
		}
	}
	return steps
}

// named returns the item of a list that has a name; nil if none has.
func named(name any, items []any) map[string]any {
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && name != nil && m["name"] == name {
			return m
		}
	}
	return nil
}
