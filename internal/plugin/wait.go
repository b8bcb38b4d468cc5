package plugin

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watchPause is how long to wait before a watch that has ended is opened again.
const watchPause = time.Second

// waitUntil calls observe with an object each time that it changes, until that is done or the context ends. list is an empty
// list of the kind. A deleted object, and an API server that refuses the watch, are errors.
func waitUntil(ctx context.Context, c client.WithWatch, list client.ObjectList, object client.Object, observe func(client.Object) (done bool, err error)) error {
	for {
		done, err := watchOnce(ctx, c, list, object, observe)
		// The API server ends a watch after some minutes, and may be away for a moment.
		if done || err != nil && !apierrors.IsServiceUnavailable(err) && !apierrors.IsResourceExpired(err) && ctx.Err() == nil {
			return err
		}
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchOnce is waitUntil for one watch.
func watchOnce(ctx context.Context, c client.WithWatch, list client.ObjectList, object client.Object, observe func(client.Object) (bool, error)) (done bool, err error) {
	events, err := c.Watch(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()})
	if err != nil {
		return false, err
	}
	defer events.Stop()
	if err := checkExists(ctx, c, object); err != nil {
		return false, err
	}
	for event := range events.ResultChan() {
		switch event.Type {
		case watch.Error:
			return false, apierrors.FromObject(event.Object)
		case watch.Added, watch.Modified, watch.Bookmark:
		case watch.Deleted:
			return false, deleted(object)
		}
		if now, ok := event.Object.(client.Object); ok {
			if done, err = observe(now); done || err != nil {
				return done, err
			}
		}
	}
	return false, nil
}

// checkExists returns an error if an object was deleted before it was watched, which the watch does not report. A user who may only
// watch goes on.
func checkExists(ctx context.Context, c client.Client, object client.Object) error {
	current, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", object)
	}
	err := c.Get(ctx, client.ObjectKeyFromObject(object), current)
	switch {
	case apierrors.IsNotFound(err):
		return deleted(object)
	case apierrors.IsForbidden(err):
		return nil
	}
	return err
}

func deleted(object client.Object) error {
	return fmt.Errorf("%s was deleted meanwhile", object.GetName())
}
