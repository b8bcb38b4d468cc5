package manager

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
)

var (
	descCondition = prometheus.NewDesc("nginx_operator_condition",
		"A condition of an NginxOperator: 1 True, 0 False, -1 Unknown.", []string{"namespace", "name", "condition"}, nil)
	descTransition = prometheus.NewDesc("nginx_operator_ready_transition_time_seconds",
		"Time at which the condition Ready last changed, in seconds since the epoch.", []string{"namespace", "name"}, nil)
	descReplicas = prometheus.NewDesc("nginx_operator_replicas",
		"Pods of an NginxOperator, by state (desired, ready, updated).", []string{"namespace", "name", "state"}, nil)
	descRestarts = prometheus.NewDesc("nginx_operator_restarts",
		"Container restarts of the current pods of an NginxOperator.", []string{"namespace", "name"}, nil)
)

// nginxState are the metrics of NginxOperators.
var nginxState = stateKind{
	name: "NginxOperators",
	objects: prometheus.NewDesc("nginx_operator_objects",
		"NginxOperators by condition and its status.", []string{"condition", "status"}, nil),
	omitted: prometheus.NewDesc("nginx_operator_objects_without_series",
		"NginxOperators without series of their own, because there are more than --metrics-max-objects.", nil, nil),
	series: []*prometheus.Desc{descCondition, descTransition, descReplicas, descRestarts},
	list: func(ctx context.Context, c client.Reader) ([]stateObject, error) {
		list := &v1alpha2.NginxOperatorList{}
		if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		objects := make([]stateObject, 0, len(list.Items))
		for i := range list.Items {
			nginx := &list.Items[i]
			objects = append(objects, stateObject{nginx.Namespace, nginx.Name, nginx.Status.Conditions, func(s stateSink) { collectNginx(s, nginx) }})
		}
		return objects, nil
	},
}

func collectNginx(s stateSink, nginx *v1alpha2.NginxOperator) {
	s.conditions(descCondition, descTransition, nginx.Status.Conditions)
	s.gauge(descReplicas, float64(ptr.Deref(nginx.Spec.Replicas, 1)), "desired")
	s.gauge(descReplicas, float64(nginx.Status.ReadyReplicas), "ready")
	s.gauge(descReplicas, float64(nginx.Status.UpdatedReplicas), "updated")
	s.gauge(descRestarts, float64(nginx.Status.Restarts))
}
