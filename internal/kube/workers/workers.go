// Package workers sets how the controllers of this module use their workers: namespaces share them, and a pass and its
// retries are bounded.
package workers

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// passTimeout bounds one pass, so that a request that hangs does not occupy a worker forever.
const passTimeout = time.Minute

// Retry is the delay after a failed pass: it starts at First and doubles up to Most.
type Retry struct{ First, Most time.Duration }

// Options returns the options of a controller with a number of workers.
func Options(workers int, retry Retry) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		ReconciliationTimeout:   passTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retry.First, retry.Most),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return newQueue(workers, priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }))
		},
	}
}
