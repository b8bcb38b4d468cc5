package optional

import (
	"context"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// definition is the CustomResourceDefinition of a kind.
type definition struct {
	// exists reports whether there is one, served or not.
	exists atomic.Bool
	// watched reports whether exists is known.
	watched atomic.Bool
	// changed has a value when it was created, changed or deleted.
	changed chan struct{}
}

// watchDefinition watches the metadata of one CustomResourceDefinition, selected by its name: a permission for a list
// and a watch can be limited to a name, but not to several in one request.
func (k *kind) watchDefinition(ctx context.Context) error {
	cache, err := ctrlcache.New(k.options.Config, ctrlcache.Options{
		HTTPClient:           k.options.HTTPClient,
		Scheme:               k.options.Scheme,
		Mapper:               k.options.Mapper,
		DefaultFieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, k.Definition),
		DefaultTransform: func(object any) (any, error) {
			if meta, ok := object.(*metav1.PartialObjectMetadata); ok {
				meta.ManagedFields, meta.Annotations, meta.Labels = nil, nil, nil
			}
			return object, nil
		},
		DefaultWatchErrorHandler: k.options.WatchErrors,
	})
	if err != nil {
		return err
	}
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	informer, err := cache.GetInformer(ctx, meta, ctrlcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	change := func(exists bool) {
		k.definition.exists.Store(exists)
		signal(k.definition.changed)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { change(true) },
		UpdateFunc: func(any, any) { change(true) },
		DeleteFunc: func(any) { change(false) },
	})
	if err != nil {
		return err
	}
	go func() {
		// Until then, and without the permission, the kind is looked for as where definitions are not watched.
		k.definition.watched.Store(cache.WaitForCacheSync(ctx))
		signal(k.definition.changed)
	}()
	go func() {
		if err := cache.Start(ctx); err != nil {
			log.FromContext(ctx).Error(err, "cannot watch a CustomResourceDefinition", "definition", k.Definition)
		}
	}()
	return nil
}

// signal notes something in a channel that holds one note.
func signal(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
