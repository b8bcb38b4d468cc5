package caches

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Create creates an object. Later reads in its namespace wait for it.
func (r *ReadYourWrites) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return r.write(ctx, of(object), (&client.CreateOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency,
		func() error { return r.Client.Create(ctx, object, options...) })
}

// Update updates an object. Later reads in its namespace wait for it.
func (r *ReadYourWrites) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return r.write(ctx, of(object), (&client.UpdateOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency,
		func() error { return r.Client.Update(ctx, object, options...) })
}

// Patch patches an object. Later reads in its namespace wait for it.
func (r *ReadYourWrites) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return r.write(ctx, of(object), (&client.PatchOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency,
		func() error { return r.Client.Patch(ctx, object, patch, options...) })
}

// Apply applies a configuration. Later reads in its namespace wait for it.
func (r *ReadYourWrites) Apply(ctx context.Context, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	return r.write(ctx, r.applied(config), (&client.ApplyOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency,
		func() error { return r.Client.Apply(ctx, config, options...) })
}

// Status returns a writer of statuses. Later reads in the namespace of an object wait for its status.
func (r *ReadYourWrites) Status() client.SubResourceWriter { return statuses{r.Client.Status(), r} }

type statuses struct {
	client.SubResourceWriter
	client *ReadYourWrites
}

// Update implements client.SubResourceWriter.
func (s statuses) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	return s.client.write(ctx, of(object), (&client.SubResourceUpdateOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency,
		func() error { return s.SubResourceWriter.Update(ctx, object, options...) })
}

// Patch implements client.SubResourceWriter.
func (s statuses) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	return s.client.write(ctx, of(object), (&client.SubResourcePatchOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency,
		func() error { return s.SubResourceWriter.Patch(ctx, object, patch, options...) })
}

// Apply implements client.SubResourceWriter.
func (s statuses) Apply(ctx context.Context, config runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	return s.client.write(ctx, s.client.applied(config), (&client.SubResourceApplyOptions{}).ApplyOpts(options).DisableReadYourWritesConsistency,
		func() error { return s.SubResourceWriter.Apply(ctx, config, options...) })
}

// target returns the object that is written, with its namespace. Once it is written, it has its version.
type target func() (client.Object, error)

func of(object client.Object) target { return func() (client.Object, error) { return object, nil } }

// applied returns the target of a configuration.
func (r *ReadYourWrites) applied(config runtime.ApplyConfiguration) target {
	return func() (client.Object, error) {
		named, ok := config.(interface {
			GetName() *string
			GetNamespace() *string
			GetKind() *string
			GetAPIVersion() *string
		})
		if !ok || named.GetKind() == nil || named.GetAPIVersion() == nil {
			return nil, fmt.Errorf("%T has no name, kind or version", config)
		}
		made, err := r.Scheme().New(schema.FromAPIVersionAndKind(*named.GetAPIVersion(), *named.GetKind()))
		if err != nil {
			return nil, err
		}
		object, ok := made.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%T is not an object", made)
		}
		if namespace := named.GetNamespace(); namespace != nil {
			object.SetNamespace(*namespace)
		}
		// No method of apply configurations returns the version.
		if version, ok := reflect.TypeAssert[*string](reflect.Indirect(reflect.ValueOf(config)).FieldByName("ResourceVersion")); ok && version != nil {
			object.SetResourceVersion(*version)
		}
		return object, nil
	}
}

// write sends a write, and notes its version, unless reads need not wait for it.
func (r *ReadYourWrites) write(ctx context.Context, target target, unnoted bool, send func() error) error {
	if unnoted {
		return send()
	}
	object, err := target()
	if err != nil {
		return err
	}
	form, err := r.formOf(object)
	if err != nil {
		return err
	}
	made, _ := r.versions.LoadOrStore(form, newVersions())
	written := made.(*versions) //nolint:forcetypeassert // Nothing else is stored.
	if err := written.watch(ctx, r.informers, object); err != nil {
		return err
	}
	if err := send(); err != nil {
		return err
	}
	if object, err = target(); err != nil {
		return err
	}
	return written.write(object.GetNamespace(), object.GetResourceVersion())
}
