package caches

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/kube/pages"
)

// readTimeout bounds how long a read waits for an informer to show a write, which usually takes milliseconds.
// lateReadTimeout is the bound if the previous read of the kind in the namespace has timed out: all do, until one of the
// objects of the kind changes.
const (
	readTimeout     = 5 * time.Second
	lateReadTimeout = 100 * time.Millisecond
)

// ReadYourWrites is a client whose reads wait until the informers show what it has written in the namespace that is read.
// If an informer does not show it in time, they read from the API server.
//
// controller-runtime has such a client as well (EnableReadYourWritesConsistency of client.CacheOptions,
// https://github.com/kubernetes-sigs/controller-runtime/pull/3472). As of v0.25, its lists also wait for all writes of the
// kind that are under way, so an admission webhook that hangs in one namespace delays the lists in all others. Here, a read
// does not wait for writes under way: those are of other passes.
//
// The version of a write is known from the objects that the informer receives. If an object was written and then deleted
// while the watch of its kind was broken, the informer never receives that version: the list with which the watch restarts
// does not contain the object. Every read of the kind in that namespace would wait until another object of the kind
// changes, of any owner.
//
// Reads do not wait for deletions. A deletion must be bound to a UID, so that repeating it because of a stale informer does
// nothing.
//
// With several namespaces, an event in one can end the wait for another, because all share one version. Do not base
// anything final on what was just written.
type ReadYourWrites struct {
	client.Client
	// live reads from the API server.
	live client.Reader
	// informers have the objects that are read.
	informers ctrlcache.Informers
	// namespaces are the namespaces that may be read; none: all.
	namespaces []string
	// cached returns the options of the cache, with transformations that have budgets of their own.
	cached func() ctrlcache.Options
	// indexes are the fields by which lists from the caches are selected. The API server does not
	// know them.
	indexes map[index]client.IndexerFunc
	// versions are the *versions of each form.
	versions sync.Map
	// late contains each place whose informer had not caught up at the last read.
	late sync.Map
}

// form is a kind in one of the forms for which there are informers: as a Go type, unstructured, or its metadata.
type form struct {
	schema.GroupVersionKind
	name string
}

// place is a form in a namespace.
type place struct {
	form
	namespace string
}

// index is a field by which objects of a type are selected.
type index struct {
	object reflect.Type
	field  string
}

// NewReadYourWrites returns a client for the namespaces; for all if there are none. Its NewCache and then its NewClient have
// to be given to the same manager.
//
// cached returns the options of the cache. A list from the API server calls it for the labels and transformations, which bound
// what the list keeps. They must not share budgets with the cache, which counts an object until it is deleted.
func NewReadYourWrites(namespaces []string, cached func() ctrlcache.Options) *ReadYourWrites {
	return &ReadYourWrites{namespaces: namespaces, cached: cached, indexes: map[index]client.IndexerFunc{}}
}

// NewClient is a client.NewClientFunc.
func (r *ReadYourWrites) NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	var err error
	if r.Client, err = client.New(config, options); err != nil {
		return nil, err
	}
	options.Cache = nil
	r.live, err = client.New(config, options)
	return r, err
}

// NewCache is a ctrlcache.NewCacheFunc.
func (r *ReadYourWrites) NewCache(config *rest.Config, options ctrlcache.Options) (ctrlcache.Cache, error) {
	cache, err := NewConcurrent(config, options)
	r.informers = cache
	return indexed{cache, r}, err
}

// indexed is a cache that records its indexes in reads.
type indexed struct {
	ctrlcache.Cache
	reads *ReadYourWrites
}

func indexKey(object client.Object, field string) index { return index{reflect.TypeOf(object), field} }

// IndexField implements client.FieldIndexer.
func (c indexed) IndexField(ctx context.Context, object client.Object, field string, values client.IndexerFunc) error {
	c.reads.indexes[indexKey(object, field)] = values
	return c.Cache.IndexField(ctx, object, field, values)
}

// Get waits for the informer, and reads from the API server if the informer does not catch up.
func (r *ReadYourWrites) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if !(&client.GetOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		if behind, err := r.behind(ctx, object, key.Namespace); err != nil {
			return err
		} else if behind {
			return r.getLive(ctx, key, object)
		}
	}
	return r.Client.Get(ctx, key, object, options...)
}

// List waits for the informer, and reads from the API server if the informer does not catch up.
func (r *ReadYourWrites) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if wanted := (&client.ListOptions{}).ApplyOptions(options); !wanted.DisableReadYourWritesConsistency {
		if behind, err := r.behind(ctx, list, wanted.Namespace); err != nil {
			return err
		} else if behind {
			return r.listLive(ctx, list, options...)
		}
	}
	return r.Client.List(ctx, list, options...)
}

// behind waits for an informer, and reports whether it has not caught up in time.
func (r *ReadYourWrites) behind(ctx context.Context, of runtime.Object, namespace string) (bool, error) {
	form, err := r.formOf(of)
	if err != nil {
		return false, err
	}
	written, ok := r.versions.Load(form)
	if !ok {
		return false, nil
	}
	place, timeout := place{form, namespace}, readTimeout
	_, late := r.late.Load(place)
	if late {
		timeout = lateReadTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = written.(*versions).wait(limited, namespace) //nolint:forcetypeassert // Nothing else is stored.
	switch {
	case ctx.Err() != nil:
		return false, err
	case err == nil:
		if late {
			r.late.Delete(place)
		}
		return false, nil
	case !late:
		log.FromContext(ctx).Info("reading from the API server: the informer does not yet show the last write", "of", form.String(), "waited", timeout.String())
		r.late.Store(place, true)
	}
	return true, nil
}

// formOf returns the form of an object or of a list.
func (r *ReadYourWrites) formOf(of runtime.Object) (form, error) {
	kind, err := apiutil.GVKForObject(of, r.Scheme())
	if err != nil {
		return form{}, fmt.Errorf("find the kind of %T: %w", of, err)
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	name := "typed"
	switch of.(type) {
	case runtime.Unstructured:
		name = "unstructured"
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		name = "metadata"
	}
	return form{kind, name}, nil
}

// getLive reads with a list, since the permissions for a cache allow lists and not necessarily
// gets.
func (r *ReadYourWrites) getLive(ctx context.Context, key client.ObjectKey, object client.Object) error {
	gvk, err := apiutil.GVKForObject(object, r.Scheme())
	if err != nil {
		return err
	}
	made, err := r.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return err
	}
	list, ok := made.(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is not a list", made)
	}
	err = r.live.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name)})
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		// Return the same error as the caches.
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	if reflect.TypeOf(items[0]) != reflect.TypeOf(object) {
		return fmt.Errorf("%T is not %T", items[0], object)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(items[0]).Elem())
	return nil
}

// listLive lists from the API server what the cache would have. It selects by the caches' indexes, which the API server does
// not know, and transforms the objects of each page, because all of them together may be too large.
func (r *ReadYourWrites) listLive(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	wanted := (&client.ListOptions{}).ApplyOptions(options)
	selected := wanted.FieldSelector
	wanted.FieldSelector = nil
	transform, err := r.asCached(list, wanted)
	if err != nil {
		return err
	}
	namespaces := r.namespaces
	if wanted.Namespace != "" || len(namespaces) == 0 {
		namespaces = []string{wanted.Namespace}
	}
	page, ok := list.DeepCopyObject().(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is not a list", list)
	}
	var all []runtime.Object
	take := func() error {
		// A kept object must not keep the other objects of its page in memory.
		return meta.EachListItemWithAlloc(page, func(item runtime.Object) error {
			if selected != nil && !r.selects(selected, item) {
				return nil
			}
			kept, err := transform(item)
			if object, ok := kept.(runtime.Object); ok && err == nil {
				all = append(all, object)
			}
			return err
		})
	}
	for _, namespace := range namespaces {
		wanted.Namespace = namespace
		if err := pages.Of(r.live)(ctx, page, take, wanted); err != nil {
			return err
		}
	}
	return meta.SetList(list, all)
}

// asCached selects the objects that the cache has of a list's kind, and returns how the cache transforms them.
func (r *ReadYourWrites) asCached(list client.ObjectList, wanted *client.ListOptions) (toolscache.TransformFunc, error) {
	form, err := r.formOf(list)
	if err != nil {
		return nil, err
	}
	cached := r.cached()
	selector, transform := cached.DefaultLabelSelector, cached.DefaultTransform
	for object, options := range cached.ByObject {
		kind, err := apiutil.GVKForObject(object, r.Scheme())
		if err != nil {
			return nil, fmt.Errorf("find the kind of %T: %w", object, err)
		}
		if kind != form.GroupVersionKind {
			continue
		}
		if options.Label != nil {
			selector = options.Label
		}
		if options.Transform != nil {
			transform = options.Transform
		}
	}
	if selector != nil {
		if wanted.LabelSelector == nil {
			wanted.LabelSelector = labels.Everything()
		}
		required, _ := selector.Requirements()
		wanted.LabelSelector = wanted.LabelSelector.Add(required...)
	}
	if transform == nil {
		transform = func(object any) (any, error) { return object, nil }
	}
	return transform, nil
}

// selects reports whether the indexes select an object.
func (r *ReadYourWrites) selects(selector fields.Selector, item runtime.Object) bool {
	object, ok := item.(client.Object)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(selector.Requirements(), func(required fields.Requirement) bool {
		values := r.indexes[indexKey(object, required.Field)]
		return values == nil || !slices.Contains(values(object), required.Value)
	})
}
