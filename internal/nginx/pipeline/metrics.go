package pipeline

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/nginx-operator/internal/instanceapi"
)

// ordersSent counts the orders to pods by their result.
var ordersSent = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "nginx_operator_orders_total",
	Help: "Signed orders that were sent to pods, by result: accepted, refused or unanswered.",
}, []string{"result"})

func init() { metrics.Registry.MustRegister(ordersSent) }

// orderResult is the label of an order.
func orderResult(err error) string {
	refused := &instanceapi.RefusedError{}
	switch {
	case err == nil:
		return "accepted"
	case errors.As(err, &refused):
		return "refused"
	default:
		return "unanswered"
	}
}
