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

	"example.com/nginx-operator/internal/kube/pages"
)

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

// list returns all objects at the newest version, since the API server does not page older ones. If etcd compacts that version
// before the last page, it returns an error, and client-go lists again. Pages are therefore as large as their bytes allow.
//
// The expired token comes with another one, which continues at the current version. An informer cannot use it: the list would
// miss what changed in the earlier pages, and the watch cannot start at their version, which has been compacted.
func (l *pagedLists) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	options.TimeoutSeconds = new(pageSeconds)
	size := pages.NewSize(pages.Most)
	all := &pager.ListPager{PageSize: pages.Most, PageFn: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return l.page(ctx, options, size)
	}}
	list, _, err := all.ListWithAlloc(ctx, options)
	return list, err
}

func (l *pagedLists) page(ctx context.Context, options metav1.ListOptions, size *pages.Size) (page runtime.Object, err error) {
	err = size.Read(ctx, func(ctx context.Context, limit int64) (int, error) {
		options.Limit = limit
		page, err = l.source.ListWithContext(ctx, options)
		if err != nil {
			return 0, err
		}
		return meta.LenList(page), nil
	})
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
