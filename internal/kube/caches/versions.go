package caches

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// versions compares what an informer has shown with what was written. The resource versions of a kind can be compared
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions). It is safe for concurrent use.
type versions struct {
	mu           sync.Mutex
	registration toolscache.ResourceEventHandlerRegistration
	// shown is the newest version that the informer has shown.
	shown int64
	// next is closed when shown changes; nil: nobody waits.
	next chan struct{}
	// written are the versions of the last writes in each namespace that the informer may not have shown.
	written map[string]int64
}

func newVersions() *versions { return &versions{written: map[string]int64{}} }

// watch makes the informer of an object report what it shows. It returns once that includes what the informer has now.
func (v *versions) watch(ctx context.Context, informers ctrlcache.Informers, object client.Object) error {
	v.mu.Lock()
	registration := v.registration
	v.mu.Unlock()
	if registration == nil {
		informer, err := informers.GetInformer(ctx, object, ctrlcache.BlockUntilSynced(true))
		if err != nil {
			return fmt.Errorf("get the informer of %T: %w", object, err)
		}
		if registration, err = v.register(informer); err != nil {
			return fmt.Errorf("watch the informer of %T: %w", object, err)
		}
	}
	select {
	case <-registration.HasSyncedChecker().Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (v *versions) register(informer ctrlcache.Informer) (toolscache.ResourceEventHandlerRegistration, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var err error
	if v.registration == nil {
		v.registration, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: v.show, UpdateFunc: func(_, object any) { v.show(object) }, DeleteFunc: v.show,
		})
	}
	return v.registration, err
}

// show notes an object that the informer has shown.
func (v *versions) show(object any) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return // An object that was deleted while the watch was broken: the version of its deletion is not known.
	}
	version, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return // As before, reads wait for a version that is known.
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if version <= v.shown {
		return
	}
	v.shown = version
	if v.next != nil {
		close(v.next)
		v.next = nil
	}
}

// write notes the version of a write.
func (v *versions) write(namespace, resourceVersion string) error {
	version, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("read the version of a write: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for namespace, version := range v.written {
		if version <= v.shown {
			delete(v.written, namespace)
		}
	}
	if version > v.shown {
		v.written[namespace] = max(version, v.written[namespace])
	}
	return nil
}

// wait waits until the informer has shown what was written in a namespace until now; in all of them if it is empty.
func (v *versions) wait(ctx context.Context, namespace string) error {
	v.mu.Lock()
	wanted := v.written[namespace]
	if namespace == "" {
		for _, version := range v.written {
			wanted = max(wanted, version)
		}
	}
	v.mu.Unlock()
	for {
		v.mu.Lock()
		if v.shown >= wanted {
			v.mu.Unlock()
			return nil
		}
		if v.next == nil {
			v.next = make(chan struct{})
		}
		next := v.next
		v.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
