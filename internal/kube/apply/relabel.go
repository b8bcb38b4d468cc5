package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
)

// Relabels returns the changes that restore the label of objects which the caches cannot find.
func Relabels(objects []*metav1.PartialObjectMetadata) []Change {
	changes := make([]Change, 0, len(objects))
	for _, live := range objects {
		kind := owned.Kind{Name: live.Kind, GVK: live.GroupVersionKind()}
		changes = append(changes, Change{Action: Relabel, Live: live, Intent: owned.Intent{Kind: kind, Name: live.Name}})
	}
	return changes
}

// IsRelabelOnly reports whether changes do nothing but restore labels. Nothing else is decided from a state that lacks
// objects.
func IsRelabelOnly(changes []Change) bool { return len(changes) > 0 && changes[0].Action == Relabel }

// Find reads the metadata of an object past the caches.
func (a *Applier) Find(ctx context.Context, owner metav1.Object, kind schema.GroupVersionKind, name string) (*metav1.PartialObjectMetadata, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	if err := a.live.Get(ctx, types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}, live); err != nil {
		return nil, fmt.Errorf("look for %s %s: %w", kind.Kind, name, err)
	}
	return live, nil
}

// RestoreLabel gives an object of the owner the label by which the caches find it.
func (a *Applier) RestoreLabel(ctx context.Context, owner metav1.Object, kind schema.GroupVersionKind, live owned.Object) error {
	metadata := map[string]any{"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "labels": a.settings.Labels(owner.GetName())}
	if live.GetAnnotations()[a.settings.HashAnnotation] != "" {
		// The next pass makes the label the operator's by apply.
		metadata["annotations"] = map[string]string{a.settings.HashAnnotation: replaced}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(owner.GetNamespace())
	object.SetName(live.GetName())
	// The caches do not show it, so no read may wait for this write.
	return client.IgnoreNotFound(a.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(a.settings.FieldManager), client.DisableReadYourWritesConsistency))
}
