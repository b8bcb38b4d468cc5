package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
)

// OptionalKinds are the kinds that the cluster may lack.
type OptionalKinds struct {
	// Kinds of which an application may have several objects.
	Kinds []owned.Kind
	// Available tells whether they can be read.
	Available owned.AvailableKinds
	// Declared returns the names of the objects of a kind that an application declares.
	Declared func(app *application.Application, kind string) []string
}

// WithOptionalKinds makes the observer read kinds that the cluster may lack.
func (o *Observer) WithOptionalKinds(kinds OptionalKinds) *Observer {
	o.optional = kinds
	return o
}

// optionalKinds reads all objects of the optional kinds, also those that should not exist any more.
func (o *Observer) optionalKinds(ctx context.Context, app *application.Application, state *State) error {
	for _, kind := range o.optional.Kinds {
		err := owned.ErrNotServed
		if o.optional.Available.Availability(kind) == owned.KindServed {
			err = o.listOptional(ctx, app, kind, state)
		}
		if errors.Is(err, owned.ErrNotServed) {
			o.unavailable(app, kind, state)
		} else if err != nil {
			return fmt.Errorf("list the objects of kind %s: %w", kind.Name, err)
		}
	}
	return nil
}

func (o *Observer) listOptional(ctx context.Context, app *application.Application, kind owned.Kind, state *State) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GVK.GroupVersion().WithKind(kind.Name + "List"))
	if err := o.cache.List(ctx, list, client.InNamespace(app.Namespace), client.MatchingFields{IndexApplication: app.Name}); err != nil {
		return err
	}
	declared := o.optional.Declared(app, kind.Name)
	for i := range list.Items {
		object := &list.Items[i]
		if err := o.addListed(ctx, app, kind.Name, object, slices.Contains(declared, object.GetName()), state); err != nil {
			return err
		}
	}
	return nil
}

func (o *Observer) unavailable(app *application.Application, kind owned.Kind, state *State) {
	if state.Unavailable == nil {
		state.Unavailable = map[string]owned.Availability{}
	}
	state.Unavailable[kind.Name] = owned.KindUnread
	if o.optional.Available.Availability(kind) == owned.KindAbsent {
		state.Unavailable[kind.Name] = owned.KindAbsent
	}
	if len(o.optional.Declared(app, kind.Name)) > 0 {
		o.optional.Available.Want(kind)
	}
}

// ApplicationLabel returns the values of IndexApplication.
func ApplicationLabel(object client.Object) []string { return applicationLabel(object) }
