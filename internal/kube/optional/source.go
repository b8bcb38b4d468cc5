package optional

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// maxWait is how long a controller waits for the kinds before its first pass. A pass without them would change the status
// of applications that use them.
const maxWait = 10 * time.Second

// Source queues what requests returns for a changed object, and what all returns when a kind has become available or
// absent.
func (k *Kinds) Source(requests func(client.Object) []reconcile.Request, all func(context.Context) ([]reconcile.Request, error)) source.SyncingSource {
	return &kindsSource{kinds: k, Func: func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		add := func(requests []reconcile.Request) {
			for _, request := range requests {
				queue.Add(request)
			}
		}
		k.Subscribe(func(object client.Object) { add(requests(object)) }, func() {
			found, err := all(ctx)
			if err != nil {
				log.FromContext(ctx).Error(err, "cannot list the owners of a kind whose availability has changed")
			}
			add(found)
		})
		return nil
	}}
}

type kindsSource struct {
	source.Func
	kinds *Kinds
}

// WaitForSync waits for the kinds. One that cannot be read, because a permission is missing, does not hold the others back.
func (s *kindsSource) WaitForSync(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if err := s.kinds.WaitForSync(bounded); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Info("continuing without a kind that could not be read yet", "reason", err.Error())
	}
	return nil
}
