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
		search := exclusiveSearch{keys: place.Keys}
		search.at(addition{}, intent.Kind.Schema, place.Path, intent.Fields, live)
		all = append(all, search.found...)
	}
	slices.SortFunc(all, func(a, b addition) int { return strings.Compare(a.path, b.path) })
	// A field below a removed field goes with it.
	return slices.DeleteFunc(slices.Clone(all), func(a addition) bool {
		return slices.ContainsFunc(all, func(b addition) bool { return strings.HasPrefix(a.pointer, b.pointer+"/") })
	})
}

// exclusiveSearch finds what others added at one exclusive path.
type exclusiveSearch struct {
	// keys are those that no other client may add; all if empty.
	keys  []string
	found []addition
}

// at descends a path.
func (s *exclusiveSearch) at(at addition, schema *owned.Schema, path []string, ours, theirs map[string]any) {
	if len(path) == 0 {
		s.compare(at, ours, theirs)
		return
	}
	key, rest := path[0], path[1:]
	if len(rest) > 0 && rest[0] == owned.EachItem {
		s.items(at.under(key), schema.Field(key), rest[1:], ours[key], theirs[key])
		return
	}
	mine, _ := ours[key].(map[string]any)
	live, _ := theirs[key].(map[string]any)
	s.at(at.under(key), schema.Field(key), rest, mine, live)
}

// items descends into the items of a list that the operator applied.
func (s *exclusiveSearch) items(at addition, schema *owned.Schema, path []string, ours, theirs any) {
	mine, _ := ours.([]any)
	live, _ := theirs.([]any)
	for i, item := range live {
		item, ok := item.(map[string]any)
		if !ok {
			continue
		}
		key := schema.KeyOf(item)
		if own := schema.ItemOf(mine, key); own != nil {
			s.at(addition{fmt.Sprintf("%s[%v]", at.path, key), fmt.Sprintf("%s/%d", at.pointer, i)}, schema.Each(), path, own, item)
		}
	}
}

func (s *exclusiveSearch) compare(at addition, ours, theirs map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		if _, ok := ours[key]; !ok && (len(s.keys) == 0 || slices.Contains(s.keys, key)) {
			s.found = append(s.found, at.under(key))
		}
	}
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
