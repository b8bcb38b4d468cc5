package apply

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "nginx_operator_writes_total",
	Help: "Objects that the operator wrote, by kind and action (create, update, heal, delete).",
}, []string{"kind", "action"})

func init() {
	metrics.Registry.MustRegister(writes)
}

func count(change Change) {
	writes.WithLabelValues(change.Intent.Kind.Name, string(change.Action)).Inc()
}
