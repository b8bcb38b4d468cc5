package plugin

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waitUntil calls observe with an object each time that it changes, until that is done or the context ends. list is an empty
// list of the kind.
func waitUntil(ctx context.Context, c client.WithWatch, list client.ObjectList, object client.Object, observe func(client.Object) (done bool, err error)) error {
	// The API server ends a watch after some minutes.
	for ctx.Err() == nil {
		events, err := c.Watch(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()})
		if err != nil {
			return err
		}
		done := false
		for event := range events.ResultChan() {
			if now, ok := event.Object.(client.Object); ok {
				done, err = observe(now)
			}
			if done || err != nil {
				break
			}
		}
		events.Stop()
		if done || err != nil {
			return err
		}
	}
	return ctx.Err()
}
