package apply

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/observe"
)

// added is what others have added to the maps that are the operator's alone, by field: each key, as the value that
// takes it away in a merge patch (RFC 7386). Server-side apply leaves it there, since it is theirs.
func added(intent desired.Intent, live map[string]any) map[string]map[string]any {
	var patch map[string]map[string]any
	for _, field := range intent.Kind.Alone {
		ours, _ := intent.Fields[field].(map[string]any)
		theirs, _ := live[field].(map[string]any)
		for key := range theirs {
			if _, ok := ours[key]; ok {
				continue
			}
			if patch == nil {
				patch = map[string]map[string]any{}
			}
			if patch[field] == nil {
				patch[field] = map[string]any{}
			}
			patch[field][key] = nil
		}
	}
	return patch
}

// takeAway removes what others have added to an object that was written.
func (a *Applier) takeAway(ctx context.Context, change Change, written observe.Object, patch map[string]map[string]any) (observe.Object, error) {
	// What was added since is not known: the next pass looks again.
	patch["metadata"] = map[string]any{"uid": written.GetUID(), "resourceVersion": written.GetResourceVersion()}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return a.patch(ctx, written.GetNamespace(), change.Intent, client.RawPatch(types.MergePatchType, body))
}
