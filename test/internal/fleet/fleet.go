// Package fleet creates many NginxOperators and waits for them.
package fleet

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
)

// Clients is the number of concurrent requests. It is more than two processors can handle, so that
// it does not limit the speed.
const Clients = 16

// Object returns the i-th NginxOperator of a fleet: one replica, all other fields unset.
func Object(namespace string, i int) *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name(i)},
		Spec:       v1alpha2.NginxOperatorSpec{Replicas: ptr.To[int32](1)},
	}
}

// Name returns the name of the i-th object of a fleet.
func Name(i int) string { return fmt.Sprintf("web-%d", i) }

// Each calls do for 0 to n-1 with Clients workers. It stops at the first error, because the
// measurement has then failed.
func Each(ctx context.Context, n int, do func(i int) error) error {
	working, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	workqueue.ParallelizeUntil(working, Clients, n, func(i int) {
		if err := do(i); err != nil {
			fail(err)
		}
	})
	return context.Cause(working)
}

// Create creates n NginxOperators in a namespace.
func Create(ctx context.Context, c client.Client, namespace string, n int) error {
	return Each(ctx, n, func(i int) error {
		return c.Create(ctx, Object(namespace, i))
	})
}

// Condition reports whether an NginxOperator has the state that Await waits for.
type Condition func(*v1alpha2.NginxOperator) bool

// Observed reports whether the operator has written the status of the newest spec.
func Observed(nginx *v1alpha2.NginxOperator) bool {
	return nginx.Status.ObservedGeneration != 0 && nginx.Status.ObservedGeneration == nginx.Generation
}

// Await waits until n NginxOperators of a namespace meet a condition.
func Await(ctx context.Context, c client.WithWatch, namespace string, n int, met Condition) error {
	holds := map[string]bool{}
	for {
		// A watch without a resource version begins with the existing objects, so it can be
		// reopened any number of times.
		watcher, err := c.Watch(ctx, &v1alpha2.NginxOperatorList{}, client.InNamespace(namespace))
		if err != nil {
			return fmt.Errorf("%d of %d objects are as expected: %w", len(holds), n, err)
		}
		done, err := follow(ctx, watcher, holds, n, met)
		watcher.Stop()
		if err != nil {
			return fmt.Errorf("%d of %d objects are as expected: %w", len(holds), n, err)
		}
		if done {
			return nil
		}
	}
}

// follow records in holds which objects meet the condition, until n do or the watch ends.
func follow(ctx context.Context, watcher watch.Interface, holds map[string]bool, n int, met Condition) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return false, nil
			}
			nginx, ok := event.Object.(*v1alpha2.NginxOperator)
			if !ok {
				continue
			}
			delete(holds, nginx.Name)
			if event.Type != watch.Deleted && met(nginx) {
				holds[nginx.Name] = true
			}
			if len(holds) >= n {
				return true, nil
			}
		}
	}
}
