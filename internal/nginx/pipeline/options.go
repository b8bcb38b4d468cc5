package pipeline

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// passTimeout bounds one pass, so that a request that hangs does not block a worker forever.
const passTimeout = time.Minute

// The retry after a failed pass starts at retryFirst and doubles up to retryMost. The end of its cause (a quota, a
// webhook) may emit no event, and a user who removed the cause must not wait long.
const (
	retryFirst = 5 * time.Millisecond
	retryMost  = time.Minute
)

// ControllerOptions returns the options of a controller whose passes the pipeline makes.
func ControllerOptions(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		ReconciliationTimeout:   passTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost),
	}
}

// Requeue is the result of a pass: an error has a back-off of its own.
func Requeue(after time.Duration, err error) (ctrl.Result, error) {
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: after}, nil
}
