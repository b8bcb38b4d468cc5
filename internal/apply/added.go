package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/observe"
)

// addition is a field that somebody has added where the operator alone may.
type addition struct {
	// path is what it is called, pointer how a JSON patch finds it (RFC 6901).
	path, pointer string
}

// added is what others have added to the places that are the operator's alone. Server-side apply leaves it there, since
// it is theirs.
func added(intent desired.Intent, live map[string]any) []addition {
	var all []addition
	for _, place := range intent.Kind.Alone {
		all = append(all, addedAt(addition{}, place.Path, place.Keys, intent.Fields, live)...)
	}
	slices.SortFunc(all, func(a, b addition) int { return strings.Compare(a.path, b.path) })
	// What is in a field that is taken away goes with it.
	return slices.DeleteFunc(slices.Clone(all), func(a addition) bool {
		return slices.ContainsFunc(all, func(b addition) bool { return strings.HasPrefix(a.pointer, b.pointer+"/") })
	})
}

// addedAt goes down a path, at which an asterisk stands for the items of a list that are the operator's.
func addedAt(at addition, path, keys []string, ours, theirs map[string]any) []addition {
	if len(path) == 0 {
		return addedTo(at, keys, ours, theirs)
	}
	key, rest := path[0], path[1:]
	if len(rest) > 0 && rest[0] == desired.EachOfOurs {
		return addedToItems(at.under(key), rest[1:], keys, ours[key], theirs[key])
	}
	mine, _ := ours[key].(map[string]any)
	live, _ := theirs[key].(map[string]any)
	return addedAt(at.under(key), rest, keys, mine, live)
}

func addedToItems(at addition, path, keys []string, ours, theirs any) []addition {
	mine, _ := ours.([]any)
	live, _ := theirs.([]any)
	var all []addition
	for i, item := range live {
		item, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if own := named(item["name"], mine); own != nil {
			all = append(all, addedAt(addition{fmt.Sprintf("%s[%v]", at.path, item["name"]), fmt.Sprintf("%s/%d", at.pointer, i)}, path, keys, own, item)...)
		}
	}
	return all
}

func addedTo(at addition, keys []string, ours, theirs map[string]any) []addition {
	var all []addition
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		if _, ok := ours[key]; !ok && (len(keys) == 0 || slices.Contains(keys, key)) {
			all = append(all, at.under(key))
		}
	}
	return all
}

func (a addition) under(key string) addition {
	return addition{strings.TrimPrefix(a.path+"."+key, "."), a.pointer + "/" + pointer(key)}
}

// removal is the operation that takes it away.
func (a addition) removal() operation { return operation{Op: "remove", Path: a.pointer} }

// takeAway removes what others have added to an object that was written.
func (a *Applier) takeAway(ctx context.Context, change Change, written observe.Object, additions []addition) (observe.Object, error) {
	steps := []operation{ofVersion(written)}
	for _, addition := range additions {
		steps = append(steps, addition.removal())
	}
	body, err := json.Marshal(steps)
	if err != nil {
		return nil, err
	}
	return a.patch(ctx, written.GetNamespace(), change.Intent, client.RawPatch(types.JSONPatchType, body))
}
