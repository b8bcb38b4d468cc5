// Package pages reads lists from the API server in pages, because anyone in a namespace can create objects that a label
// selects, of up to 1.5 MiB each.
package pages

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// size is the number of objects that are read at once.
const size = 10

// A Lister reads the objects that options select into list, and calls take each time that it has.
type Lister func(ctx context.Context, list client.ObjectList, take func() error, options ...client.ListOption) error

// Of reads from the API server, in pages.
func Of(live client.Reader) Lister {
	return func(ctx context.Context, list client.ObjectList, take func() error, options ...client.ListOption) error {
		for next := ""; ; {
			err := live.List(ctx, list, append(options, client.Limit(size), client.Continue(next))...)
			if err == nil {
				err = take()
			}
			if next = list.GetContinue(); err != nil || next == "" {
				return err
			}
		}
	}
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
