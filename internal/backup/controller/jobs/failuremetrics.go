package jobs

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/progress"
)

// failures counts failed attempts, whose jobs are deleted.
var failures = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "nginx_backup_failed_attempts_total",
	Help: "Attempts to write or delete a backup that failed, by the reason in the condition Completed.",
}, []string{"reason"})

// CountFailure counts the failed attempt before the one that is being started.
func CountFailure(started progress.Verdict) {
	if started.Attempt > 1 && started.Reason != v1alpha1.ReasonInProgress {
		failures.WithLabelValues(started.Reason).Inc()
	}
}

func init() { metrics.Registry.MustRegister(failures) }
