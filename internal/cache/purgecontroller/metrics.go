package purgecontroller

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var purgeSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "nginx_operator_cache_purge_seconds",
	Help:    "Time from the creation of an NginxCachePurge until no pod could answer with the old content. The creation is known to the second.",
	Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
})

func init() { metrics.Registry.MustRegister(purgeSeconds) }
