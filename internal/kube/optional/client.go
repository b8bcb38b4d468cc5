package optional

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
)

// routed is a client that reads optional kinds from their own caches, and writes them so that later reads wait for the
// writes.
type routed struct {
	client.Client
	kinds *Kinds
}

// Client returns a client for all kinds, in which the optional ones are unstructured. Its reads of these return
// owned.ErrNotServed unless they are served.
func (k *Kinds) Client(c client.Client) client.Client { return routed{c, k} }

// route returns the client for the objects of a kind.
func (r routed) route(gvk schema.GroupVersionKind, object any) (client.Client, error) {
	switch object.(type) {
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
	default:
		return r.Client, nil
	}
	of := r.kinds.all[gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List"))]
	if of == nil {
		return r.Client, nil
	}
	if _, c := of.get(); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%s: %w", of.Definition, owned.ErrNotServed)
}

// Get implements client.Reader.
func (r routed) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c, err := r.route(object.GetObjectKind().GroupVersionKind(), object)
	if err != nil {
		return err
	}
	return c.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (r routed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c, err := r.route(list.GetObjectKind().GroupVersionKind(), list)
	if err != nil {
		return err
	}
	return c.List(ctx, list, options...)
}

// Patch implements client.Writer.
func (r routed) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	c, err := r.route(object.GetObjectKind().GroupVersionKind(), object)
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, patch, options...)
}

// Delete implements client.Writer.
func (r routed) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	c, err := r.route(object.GetObjectKind().GroupVersionKind(), object)
	if err != nil {
		return err
	}
	return c.Delete(ctx, object, options...)
}
