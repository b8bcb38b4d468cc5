package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// await watches an object until a condition holds, which is nil then. It keeps the last observed state in the object.
func await[T any, P interface {
	*T
	client.Object
}](ctx context.Context, b *bench, object P, list client.ObjectList, met func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.patience, fmt.Errorf("%s: timed out after %s", object.GetName(), b.patience))
	defer cancel()
	for {
		watcher, err := b.client.Watch(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()})
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		done, err := follow(ctx, watcher, object, met)
		watcher.Stop()
		if done || err != nil {
			return err
		}
	}
}

// follow updates an object with each event, until the condition holds or the watch ends.
func follow[T any, P interface {
	*T
	client.Object
}](ctx context.Context, watcher watch.Interface, object P, met func() error) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, errors.Join(context.Cause(ctx), met())
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return false, nil
			}
			if seen, ok := event.Object.(P); ok {
				*object = *seen
			}
			if met() == nil {
				return true, nil
			}
		}
	}
}
