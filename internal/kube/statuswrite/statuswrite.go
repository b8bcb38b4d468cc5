// Package statuswrite writes the status of an object by server-side apply.
package statuswrite

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply applies a status as a field manager. config is the empty apply configuration of the status, and object builds that
// of the whole object. The error says that the object was not found if it has been deleted meanwhile.
func Apply[S any](ctx context.Context, c client.Client, fieldManager string, status any, config *S, object func(*S) runtime.ApplyConfiguration) error {
	if err := Convert(status, config); err != nil {
		return err
	}
	if err := c.Status().Apply(ctx, object(config), client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// Convert fills the apply configuration of a status: both are the same as JSON.
func Convert(status, config any) error {
	text, err := json.Marshal(status)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, config)
}
