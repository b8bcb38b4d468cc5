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

	"example.com/nginx-operator/internal/kube/owned"
)

// addition is a field that another client added where only the operator may.
type addition struct {
	// path is its name for people, pointer that for a JSON patch (RFC 6901).
	path, pointer string
}

// added returns what others added to exclusive paths. Server-side apply keeps such fields, because others own them.
func added(intent owned.Intent, live map[string]any) []addition {
	var all []addition
	for _, place := range intent.Kind.ExclusivePaths {
		all = append(all, addedAt(addition{}, place.Path, place.Keys, intent.Fields, live)...)
	}
	slices.SortFunc(all, func(a, b addition) int { return strings.Compare(a.path, b.path) })
	// A field below a removed field goes with it.
	return slices.DeleteFunc(slices.Clone(all), func(a addition) bool {
		return slices.ContainsFunc(all, func(b addition) bool { return strings.HasPrefix(a.pointer, b.pointer+"/") })
	})
}

// addedAt descends a path, in which an asterisk stands for the items of a list that the operator applied.
func addedAt(at addition, path, keys []string, ours, theirs map[string]any) []addition {
	if len(path) == 0 {
		return addedTo(at, keys, ours, theirs)
	}
	key, rest := path[0], path[1:]
	if len(rest) > 0 && rest[0] == owned.EachAppliedItem {
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

// removal returns the operation that removes it.
func (a addition) removal() operation { return operation{Op: "remove", Path: a.pointer} }

// removeAdded removes what others added to an object that was written.
func (a *Applier) removeAdded(ctx context.Context, change Change, written owned.Object, additions []addition) (owned.Object, error) {
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
