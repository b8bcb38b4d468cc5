package caches

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// readTimeout bounds how long a read waits for a cache to show a write, which usually takes
// milliseconds. lateReadTimeout is the bound if the previous read of the kind has timed out: all
// reads of the kind do, until one of its objects changes.
const (
	readTimeout     = 5 * time.Second
	lateReadTimeout = 100 * time.Millisecond
)

// LateReads is a client whose reads go to the API server if the caches do not show the client's own
// writes in time.
//
// A read waits until its cache has reached the version of the last write
// (EnableReadYourWritesConsistency of client.CacheOptions,
// https://github.com/kubernetes-sigs/controller-runtime/pull/3472). As of v0.25, controller-runtime
// takes that version from the objects that it receives. If an object was written and then deleted
// while the watch of its kind was broken, the cache never receives that version: the list with
// which the watch restarts does not contain the object. Every read of the kind would wait until
// another object of it changes, of any owner.
//
// With several namespaces, an event in one can end the wait for another, because all share one
// version. Do not base anything final on what was just written.
type LateReads struct {
	client.Client
	// live reads from the API server.
	live client.Reader
	// namespaces are the namespaces that may be read; none: all.
	namespaces []string
	// indexes are the fields by which lists from the caches are selected. The API server does not
	// know them.
	indexes map[index]client.IndexerFunc
	// late contains the types whose cache had not caught up at the last read.
	late sync.Map
}

// index is a field by which objects of a type are selected.
type index struct {
	object reflect.Type
	field  string
}

// NewLateReads returns reads of the namespaces; of all if there are none. Its NewCache and NewClient have to be given to
// the same manager.
func NewLateReads(namespaces []string) *LateReads {
	return &LateReads{namespaces: namespaces, indexes: map[index]client.IndexerFunc{}}
}

// NewClient is a client.NewClientFunc.
func (r *LateReads) NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	var err error
	if r.Client, err = client.New(config, options); err != nil {
		return nil, err
	}
	options.Cache = nil
	r.live, err = client.New(config, options)
	return r, err
}

// NewCache is a ctrlcache.NewCacheFunc.
func (r *LateReads) NewCache(config *rest.Config, options ctrlcache.Options) (ctrlcache.Cache, error) {
	cache, err := NewConcurrent(config, options)
	return indexed{cache, r}, err
}

// indexed is a cache that records its indexes in reads.
type indexed struct {
	ctrlcache.Cache
	reads *LateReads
}

func indexKey(object client.Object, field string) index { return index{reflect.TypeOf(object), field} }

// IndexField implements client.FieldIndexer.
func (c indexed) IndexField(ctx context.Context, object client.Object, field string, values client.IndexerFunc) error {
	c.reads.indexes[indexKey(object, field)] = values
	return c.Cache.IndexField(ctx, object, field, values)
}

// Delete deletes an object without making later reads wait for the deletion. Such a read would wait
// until the cache shows the deletion, which it does not if the object is recreated before a broken
// watch restarts: the cache then receives a change. A deletion must be bound to a UID, so that
// repeating it because of a stale cache does nothing.
func (r *LateReads) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return r.Client.Delete(ctx, object, append(options, client.DisableReadYourWritesConsistency)...)
}

// Get waits for the cache, and reads from the API server if the cache does not catch up.
func (r *LateReads) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	behind, err := r.waiting(ctx, object, func(ctx context.Context) error { return r.Client.Get(ctx, key, object, options...) })
	if !behind {
		return err
	}
	return r.getLive(ctx, key, object)
}

// List waits for the cache, and reads from the API server if the cache does not catch up.
func (r *LateReads) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	behind, err := r.waiting(ctx, list, func(ctx context.Context) error { return r.Client.List(ctx, list, options...) })
	if !behind {
		return err
	}
	return r.listLive(ctx, list, options...)
}

// waiting reads from the cache, and reports whether the cache has not caught up in time.
func (r *LateReads) waiting(ctx context.Context, of runtime.Object, read func(context.Context) error) (behind bool, err error) {
	kind, timeout := reflect.TypeOf(of), readTimeout
	_, late := r.late.Load(kind)
	if late {
		timeout = lateReadTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = read(limited)
	switch {
	case ctx.Err() != nil:
		return false, err
	case !errors.Is(err, context.DeadlineExceeded):
		if late {
			r.late.Delete(kind)
		}
		return false, err
	case !late:
		log.FromContext(ctx).Info("reading from the API server: the cache does not yet show the last write", "of", kind.String(), "waited", timeout.String())
		r.late.Store(kind, true)
	}
	return true, nil
}

// getLive reads with a list, since the permissions for a cache allow lists and not necessarily
// gets.
func (r *LateReads) getLive(ctx context.Context, key client.ObjectKey, object client.Object) error {
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

// listLive lists from the API server, and selects by the caches' indexes, which the API server does
// not know.
func (r *LateReads) listLive(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	wanted := (&client.ListOptions{}).ApplyOptions(options)
	selected := wanted.FieldSelector
	wanted.FieldSelector = nil
	namespaces := r.namespaces
	if wanted.Namespace != "" || len(namespaces) == 0 {
		namespaces = []string{wanted.Namespace}
	}
	var all []runtime.Object
	for _, namespace := range namespaces {
		wanted.Namespace = namespace
		// Use a new list each time: decoding into the same one may overwrite the items of an
		// earlier read.
		part, ok := list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return fmt.Errorf("%T is not a list", list)
		}
		if err := r.live.List(ctx, part, wanted); err != nil {
			return err
		}
		items, err := meta.ExtractList(part)
		if err != nil {
			return err
		}
		all = append(all, items...)
	}
	if selected != nil {
		all = slices.DeleteFunc(all, func(item runtime.Object) bool { return !r.selects(selected, item) })
	}
	return meta.SetList(list, all)
}

// selects reports whether the indexes select an object.
func (r *LateReads) selects(selector fields.Selector, item runtime.Object) bool {
	object, ok := item.(client.Object)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(selector.Requirements(), func(required fields.Requirement) bool {
		values := r.indexes[indexKey(object, required.Field)]
		return values == nil || !slices.Contains(values(object), required.Value)
	})
}
