package manager

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/nginx-operator/internal/kube/caches"
)

var watchErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "nginx_operator_watch_errors_total",
	Help: "Lists and watches that failed, by the kind of the objects. They are retried.",
}, []string{"kind"})

func init() {
	metrics.Registry.MustRegister(watchErrors)
}

// countWatchErrors is the handler of all caches. The metadata-only cache contains ConfigMaps.
var countWatchErrors = caches.CountWatchErrors(watchErrors, "ConfigMap")
