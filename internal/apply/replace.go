package apply

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// replacements is a JSON patch that puts our own items of lists, and our atomic maps, in the place of
// what somebody has made of them, and takes away what nobody may add; nil when nothing differs.
//
// Server-side apply merges, and some things cannot be merged: when the number of one
// of our ports was changed, ours is added beside it, and the API server refuses two
// ports of one name; when a volume or a probe was changed to another type, it
// refuses two types in one; a budget of another sort has two sorts then. What others added to such an item is lost, in exchange
// for an application that is as declared.
func replacements(intent desired.Intent, live observe.Object) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, err
	}
	ours, err := telling(intent)
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
	return json.Marshal(append([]operation{ofVersion(live), mark(live)}, steps...))
}

// ofVersion lets a patch be for this version of an object only. Of another one, this is a conflict, whereas a test that
// fails would look like a refusal of what is declared.
func ofVersion(live observe.Object) operation {
	return operation{"replace", "/metadata/resourceVersion", live.GetResourceVersion()}
}

// replaced stands for the hash of the intent in an object that was patched. Whoever finds it so has to make what was
// patched the operator's by apply, and to apply the intent, which may not have come to either.
const replaced = "replaced"

// mark is the operation by which an object tells that it was patched.
func mark(live observe.Object) operation {
	if len(live.GetAnnotations()) == 0 {
		return operation{"add", "/metadata/annotations", map[string]any{naming.AnnotationIntent: replaced}}
	}
	return operation{"add", "/metadata/annotations/" + pointer(naming.AnnotationIntent), replaced}
}

// pointer is a key as a JSON pointer has it (RFC 6901).
func pointer(key string) string { return pointers.Replace(key) }

// pointers is made once, since making it is more work than what it is used for.
var pointers = strings.NewReplacer("~", "~0", "/", "~1")

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

// replaceItems puts our item in the place of one that has its name and differs.
func replaceItems(path string, want, have []any) []operation {
	var steps []operation
	for i, item := range have {
		live, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if ours := named(live["name"], want); ours != nil && !holds(ours, live) {
			steps = append(steps, operation{"replace", fmt.Sprintf("%s/%d", path, i), ours})
		}
	}
	return steps
}

// named is the item of a list that has a name, nil if none has.
func named(name any, items []any) map[string]any {
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && name != nil && m["name"] == name {
			return m
		}
	}
	return nil
}
