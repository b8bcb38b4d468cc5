package controller

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// FieldManager owns the backup operator's fields in server-side apply.
const FieldManager = "nginx-backup-operator"

// passTimeout bounds one pass.
const passTimeout = time.Minute

// A pass that failed is tried again after retryFirst, then twice as long each time, up to
// retryMost.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 5 * time.Minute
)

// Options returns the options of each controller.
func Options(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		ReconciliationTimeout:   passTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost),
	}
}
