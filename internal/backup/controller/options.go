package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller"

	"example.com/nginx-operator/internal/kube/workers"
)

// FieldManager owns the backup operator's fields in server-side apply.
const FieldManager = "nginx-backup-operator"

// Options returns the options of each controller.
func Options(concurrency int) controller.Options {
	return workers.Options(concurrency, workers.Retry{First: 50 * time.Millisecond, Most: 5 * time.Minute})
}
