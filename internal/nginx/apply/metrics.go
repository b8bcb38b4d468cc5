package apply

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/nginx-operator/internal/kube/apply"
)

var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "nginx_operator_writes_total",
	Help: "Objects that the operator wrote, by kind and action (create, update, heal, delete, relabel).",
}, []string{"kind", "action"})

func init() {
	metrics.Registry.MustRegister(writes)
}

func count(kind string, action apply.Action) {
	writes.WithLabelValues(kind, string(action)).Inc()
}
