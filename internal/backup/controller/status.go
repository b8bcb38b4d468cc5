package controller

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ApplyStatus applies a status by server-side apply. object builds the apply configuration of the whole object.
func ApplyStatus[S any](ctx context.Context, c client.Client, status any, config *S, object func(*S) runtime.ApplyConfiguration) error {
	text, err := json.Marshal(status)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, config); err != nil {
		return err
	}
	err = c.Status().Apply(ctx, object(config), client.FieldOwner(FieldManager), client.ForceOwnership)
	if err != nil {
		// The object may have been deleted meanwhile.
		return client.IgnoreNotFound(fmt.Errorf("write the status: %w", err))
	}
	return nil
}
