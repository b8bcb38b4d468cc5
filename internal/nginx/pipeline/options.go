package pipeline

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"example.com/nginx-operator/internal/kube/workers"
)

// ControllerOptions returns the options of a controller whose passes the pipeline makes. Its retries are frequent: the
// end of a cause (a quota, a webhook) may emit no event, and a user who removed the cause must not wait long.
func ControllerOptions(concurrency int) controller.Options {
	return workers.Options(concurrency, workers.Retry{First: 5 * time.Millisecond, Most: time.Minute})
}

// Requeue is the result of a pass: an error has a back-off of its own.
func Requeue(after time.Duration, err error) (ctrl.Result, error) {
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: after}, nil
}
