// Package pages reads lists from the API server in pages that are bounded in bytes, because anyone in a namespace can create
// objects that a label selects, of up to 1.5 MiB each.
package pages

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Lister reads the objects that options select into list, and calls take for each page.
type Lister func(ctx context.Context, list client.ObjectList, take func() error, options ...client.ListOption) error

// Of reads from the API server, in pages. The client of live must use NewTransport.
func Of(live client.Reader) Lister {
	return func(ctx context.Context, list client.ObjectList, take func() error, options ...client.ListOption) error {
		size := NewSize(Most)
		for next := ""; ; {
			err := size.Read(ctx, func(ctx context.Context, limit int64) (int, error) {
				empty(list)
				err := live.List(ctx, list, append(slices.Clip(options), client.Limit(limit), client.Continue(next))...)
				return meta.LenList(list), err
			})
			if err == nil {
				err = take()
			}
			if next = list.GetContinue(); err != nil || next == "" {
				return err
			}
		}
	}
}

// empty removes everything from a list but its kind, so that the previous page leaves memory before the next one is read, and no
// decoder reuses its objects.
func empty(list client.ObjectList) {
	kind := list.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(list).Elem().SetZero()
	list.GetObjectKind().SetGroupVersionKind(kind)
}

// Whole reads from informers, which already have the objects in memory.
func Whole(informers client.Reader) Lister {
	return func(ctx context.Context, list client.ObjectList, take func() error, options ...client.ListOption) error {
		if err := informers.List(ctx, list, options...); err != nil {
			return err
		}
		return take()
	}
}
