package caches

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// pageSize is the number of objects that are read at once. Objects of 1.5 MiB, which anyone in a namespace can create, take
// about 40 MB then.
const pageSize = 10

// pageSeconds is how long the API server may take for a page. No other list of ours has a time-out of its own.
const pageSeconds int64 = 60

// pagedInformer is an informer that reads a list in pages, and transforms each page before it reads the next one.
//
// client-go reads the whole list before it transforms the first object. It does so when it starts and when a watch has
// expired, if the API server does not stream lists (the feature WatchList is off in Kubernetes 1.30, 1.31 and 1.33).
type pagedInformer struct {
	toolscache.SharedIndexInformer
	lists *pagedLists
}

// newPagedInformer returns an informer for ctrlcache.Options.
func newPagedInformer(all toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	source := toolscache.ToListerWatcherWithContext(all)
	lists := &pagedLists{source: source, transform: func(obj any) (any, error) { return obj, nil }}
	return pagedInformer{toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc:  lists.list,
		WatchFuncWithContext: source.WatchWithContext,
	}, example, resync, indexers), lists}
}

// SetTransform sets the transformation, before the informer starts. client-go transforms the objects of a list again, as it
// says that it can.
func (i pagedInformer) SetTransform(transform toolscache.TransformFunc) error {
	if transform != nil {
		i.lists.transform = transform
	}
	return i.SharedIndexInformer.SetTransform(transform)
}

// pagedLists reads lists in pages.
type pagedLists struct {
	source    toolscache.ListerWithContext
	transform toolscache.TransformFunc
}

// list returns all objects at the newest version, since the API server does not page older ones. If that version expires
// before the last page, it returns an error, and client-go lists again.
func (l *pagedLists) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch, options.Limit = "", "", pageSize
	options.TimeoutSeconds = new(pageSeconds)
	pages := &pager.ListPager{PageFn: l.page}
	list, _, err := pages.ListWithAlloc(ctx, options)
	return list, err
}

func (l *pagedLists) page(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	page, err := l.source.ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return page, meta.EachListItem(page, func(object runtime.Object) error {
		transformed, err := l.transform(object)
		if err == nil {
			reflect.ValueOf(object).Elem().Set(reflect.ValueOf(transformed).Elem())
		}
		return err
	})
}
