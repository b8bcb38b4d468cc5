package pipeline

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// maxKeyWait is how long the first pass waits for the operator's keys. Without them the operator works as well, but pods
// take no orders.
const maxKeyWait = 10 * time.Second

// Start returns the source that starts the pipeline with its controller. ownerOf maps an application to the object that
// declares it, and owners is an empty list of these, which reader reads. The first pass waits for the keys: one without
// them would create pods that learn them from the kubelet alone, and would be repeated.
func (l *Pipeline) Start(ownerOf func(types.NamespacedName) types.NamespacedName, reader client.Reader, owners client.ObjectList) source.SyncingSource {
	return &start{keys: l.Keys, Func: func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		l.enqueue = func(app types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: ownerOf(app)}) }
		l.Observer.OnAnswer(l.enqueue)
		l.Keys.OnChange(func() {
			if err := enqueueAll(ctx, reader, owners, queue); err != nil {
				log.FromContext(ctx).Error(err, "cannot list the applications whose pods need the operator's new key")
			}
		})
		return nil
	}}
}

// enqueueAll queues every object of a kind, because all pods have to learn the operator's new keys.
func enqueueAll(ctx context.Context, reader client.Reader, kind client.ObjectList, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	list, _ := kind.DeepCopyObject().(client.ObjectList)
	if err := reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		obj, err := meta.Accessor(item)
		if err == nil {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}})
		}
		return err
	})
}

type start struct {
	source.Func
	keys KeyRing
}

// WaitForSync waits for the keys.
func (s *start) WaitForSync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxKeyWait)
	defer cancel()
	select {
	case <-s.keys.Attempted():
	case <-ctx.Done():
	}
	return nil
}
