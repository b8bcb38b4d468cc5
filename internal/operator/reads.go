package operator

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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// readPatience is how long a read waits for a cache to show what was written. Mostly it takes milliseconds.
// lateReadPatience is how long where the read of the kind before this one has waited in vain: until something of the kind
// changes, all of them will.
const (
	readPatience     = 5 * time.Second
	lateReadPatience = 100 * time.Millisecond
)

// reads makes a client whose reads go past the caches where these do not come to show what it has written.
//
// Reads wait until a cache has come to the version of the last write (EnableReadYourWritesConsistency of
// client.CacheOptions). By what version it has come to, controller-runtime (as of v0.25) goes by the objects that it is told
// of. Of an object that was written, and was deleted while the watch of its kind was broken, nothing of that version is
// ever told: the list with which the watch begins again does not have it. Every read of the kind would wait until
// something else of it changes, for whatever application.
//
// With several namespaces, a read may be told of what is in one by what has happened in another, since there is one version
// for all of them: nothing may be decided for good from what was just written.
type reads struct {
	client.Client
	// live reads from the API server.
	live client.Reader
	// namespaces are those that may be read; none: all.
	namespaces []string
	// indexes are what lists of the caches are selected by, which the API server does not know.
	indexes map[index]client.IndexerFunc
	// late are the types whose cache has not caught up when one was read last.
	late sync.Map
}

// index is a field by which objects of a type are found.
type index struct {
	object reflect.Type
	field  string
}

// newClient is a client.NewClientFunc.
func (r *reads) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	var err error
	if r.Client, err = client.New(config, options); err != nil {
		return nil, err
	}
	options.Cache = nil
	r.live, err = client.New(config, options)
	return r, err
}

// newCache is a ctrlcache.NewCacheFunc.
func (r *reads) newCache(config *rest.Config, options ctrlcache.Options) (ctrlcache.Cache, error) {
	cache, err := newTogether(config, options)
	return indexed{cache, r}, err
}

// indexed is a cache that tells by what its lists are selected.
type indexed struct {
	ctrlcache.Cache
	reads *reads
}

func indexOf(object client.Object, field string) index { return index{reflect.TypeOf(object), field} }

func (c indexed) IndexField(ctx context.Context, object client.Object, field string, values client.IndexerFunc) error {
	c.reads.indexes[indexOf(object, field)] = values
	return c.Cache.IndexField(ctx, object, field, values)
}

// Delete is not waited for by later reads. They would wait for the cache to show the deletion, by whatever name something is
// deleted, and it does not where the object comes again before a broken watch begins anew: what is told then is a change.
// All that is deleted here is named by its UID, so deleting again by an old view does nothing.
func (r *reads) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return r.Client.Delete(ctx, object, append(options, client.DisableReadYourWritesConsistency)...)
}

// Get waits for the cache, and asks the API server if it does not catch up.
func (r *reads) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	behind, err := r.waiting(ctx, object, func(ctx context.Context) error { return r.Client.Get(ctx, key, object, options...) })
	if !behind {
		return err
	}
	return r.getLive(ctx, key, object)
}

// List waits for the cache, and asks the API server if it does not catch up.
func (r *reads) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	behind, err := r.waiting(ctx, list, func(ctx context.Context) error { return r.Client.List(ctx, list, options...) })
	if !behind {
		return err
	}
	return r.listLive(ctx, list, options...)
}

// waiting reads, and tells whether the cache has not caught up in time.
func (r *reads) waiting(ctx context.Context, of runtime.Object, read func(context.Context) error) (behind bool, err error) {
	kind, patience := reflect.TypeOf(of), readPatience
	_, late := r.late.Load(kind)
	if late {
		patience = lateReadPatience
	}
	limited, cancel := context.WithTimeout(ctx, patience)
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
		log.FromContext(ctx).Info("asking the API server: the cache does not show what was written", "of", kind.String(), "waited", patience.String())
		r.late.Store(kind, true)
	}
	return true, nil
}

// getLive goes by a list, which is what whoever has a cache may ask for.
func (r *reads) getLive(ctx context.Context, key client.ObjectKey, object client.Object) error {
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
		return fmt.Errorf("%T is no list", made)
	}
	err = r.live.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFieldsSelector{Selector: named(key.Name)})
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		// As the caches say it.
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	if reflect.TypeOf(items[0]) != reflect.TypeOf(object) {
		return fmt.Errorf("%T is no %T", items[0], object)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(items[0]).Elem())
	return nil
}

// listLive selects by the indexes of the cache what the API server cannot.
func (r *reads) listLive(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
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
		// A list of its own: what is read into one again may take the place of what was read before.
		part, ok := list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return fmt.Errorf("%T is no list", list)
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

// selects tells whether an object is found by the indexes that a selector names.
func (r *reads) selects(selector fields.Selector, item runtime.Object) bool {
	object, ok := item.(client.Object)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(selector.Requirements(), func(required fields.Requirement) bool {
		values := r.indexes[indexOf(object, required.Field)]
		return values == nil || !slices.Contains(values(object), required.Value)
	})
}
