package apply

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recreate deletes an object, which the next pass creates again. What it owns stays.
func (a *Applier) recreate(ctx context.Context, change Change) error {
	if err := a.verifyCreatable(ctx, change); err != nil {
		return err
	}
	return a.delete(ctx, change, client.PropagationPolicy(metav1.DeletePropagationOrphan))
}

// verifyCreatable returns why the API server would refuse to create the intent of a change: the live object must not be
// deleted then. The dry run has another name, and no node ports, because the live object has them.
func (a *Applier) verifyCreatable(ctx context.Context, change Change) error {
	body, err := json.Marshal(change.Intent.Config)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return err
	}
	object.SetName("")
	object.SetGenerateName(change.Intent.Name + "-")
	ports, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "ports")
	items, _ := ports.([]any)
	for _, item := range items {
		if port, ok := item.(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
	// A dry run changes nothing that reads could wait for.
	err = a.client.Create(ctx, object, client.DryRunAll, client.DisableReadYourWritesConsistency, client.FieldOwner(a.settings.FieldManager))
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota") {
		// The live object is what fills the quota.
		return nil
	}
	return err
}
