package scale

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/standin/kubelet"
)

// disturbance wraps the handlers of instances, as Kubelet.Disturb does.
type disturbance = func(pod string, answer http.Handler) http.Handler

// startNodes starts the stand-ins and controllers that create the pods of Deployments. disturb wraps the instances of
// namespaces.
func (b *bench) startNodes(ctx context.Context, disturb map[string]disturbance) (nodes *kubelet.Kubelet, stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	if nodes, err = kubelet.Start(ctx, b.plane.Config); err != nil {
		cancel()
		return nil, nil, err
	}
	for namespace, by := range disturb {
		nodes.Disturb(namespace, by)
	}
	manager, err := b.plane.StartControllerManager(b.plane.dir, "deployment-controller", "replicaset-controller")
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return nodes, func() error {
		defer cancel()
		return errors.Join(manager.Stop(), nodes.ForgetAll())
	}, nil
}

// instanceRequests counts the requests to instances.
type instanceRequests struct{ orders, others atomic.Int64 }

// count wraps an instance's handler, and counts requests.
func (q *instanceRequests) count(_ string, answer http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == instanceapi.PathOrders {
			q.orders.Add(1)
		} else {
			q.others.Add(1)
		}
		answer.ServeHTTP(w, r)
	})
}

// pollPhase is a phase with requests to instances.
type pollPhase struct {
	phase
	// orders are the signed orders, and polls all other requests.
	orders, polls int64
}

// pollPhase runs a phase, and counts the requests to instances.
func (b *bench) pollPhase(ctx context.Context, q *instanceRequests, name string, do func(context.Context) error) (a pollPhase, err error) {
	orders, polls := q.orders.Load(), q.others.Load()
	a.phase, err = b.phase(ctx, name, do)
	a.orders, a.polls = q.orders.Load()-orders, q.others.Load()-polls
	return a, err
}
