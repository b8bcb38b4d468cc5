package manager

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
)

// collectTimeout bounds the reads from the cache at a scrape.
const collectTimeout = 5 * time.Second

var (
	descObjects = prometheus.NewDesc("nginx_operator_objects",
		"NginxOperators by condition and its status.", []string{"condition", "status"}, nil)
	descCondition = prometheus.NewDesc("nginx_operator_condition",
		"A condition of an NginxOperator: 1 True, 0 False, -1 Unknown.", []string{"namespace", "name", "condition"}, nil)
	descTransition = prometheus.NewDesc("nginx_operator_ready_transition_time_seconds",
		"Time at which the condition Ready last changed, in seconds since the epoch.", []string{"namespace", "name"}, nil)
	descReplicas = prometheus.NewDesc("nginx_operator_replicas",
		"Pods of an NginxOperator, by state (desired, ready, updated).", []string{"namespace", "name", "state"}, nil)
	descRestarts = prometheus.NewDesc("nginx_operator_restarts",
		"Container restarts of the current pods of an NginxOperator.", []string{"namespace", "name"}, nil)
	descOmitted = prometheus.NewDesc("nginx_operator_objects_without_series",
		"NginxOperators without series of their own, because there are more than --metrics-max-objects.", nil, nil)
)

// stateCollector exports the state of every NginxOperator from the cache at the time of the scrape,
// so that no series is stale or outlives its object.
type stateCollector struct {
	cache client.Reader
	// elected is closed when this replica becomes the leader. Only the leader exports the objects,
	// so that sums are right and alerts fire once.
	elected <-chan struct{}
	// limit is the number of objects that get series of their own.
	limit int
}

func newStateCollector(cache client.Reader, elected <-chan struct{}, limit int) *stateCollector {
	return &stateCollector{cache: cache, elected: elected, limit: limit}
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{descObjects, descCondition, descTransition, descReplicas, descRestarts, descOmitted} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	select {
	case <-c.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	list := &v1alpha2.NginxOperatorList{}
	if err := c.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		logf.Log.WithName("metrics").Error(err, "cannot list NginxOperators for metrics")
		return
	}
	totals := map[[2]string]float64{}
	for i, nginx := range byName(list.Items) {
		for _, condition := range nginx.Status.Conditions {
			totals[[2]string{condition.Type, string(condition.Status)}]++
		}
		if i < c.limit {
			collectObject(out, nginx)
		}
	}
	for key, n := range totals {
		out <- prometheus.MustNewConstMetric(descObjects, prometheus.GaugeValue, n, key[0], key[1])
	}
	out <- prometheus.MustNewConstMetric(descOmitted, prometheus.GaugeValue, float64(max(0, len(list.Items)-c.limit)))
}

// byName sorts NginxOperators. A cache has no order, and each scrape must export the same objects
// if there are too many.
func byName(items []v1alpha2.NginxOperator) []*v1alpha2.NginxOperator {
	sorted := make([]*v1alpha2.NginxOperator, len(items))
	for i := range items {
		sorted[i] = &items[i]
	}
	slices.SortFunc(sorted, func(a, b *v1alpha2.NginxOperator) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

func collectObject(out chan<- prometheus.Metric, nginx *v1alpha2.NginxOperator) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{nginx.Namespace, nginx.Name}, labels...)...)
	}
	for _, condition := range nginx.Status.Conditions {
		gauge(descCondition, conditionValue(condition.Status), condition.Type)
		if condition.Type == v1alpha2.ConditionReady {
			gauge(descTransition, float64(condition.LastTransitionTime.Unix()))
		}
	}
	gauge(descReplicas, float64(ptr.Deref(nginx.Spec.Replicas, 1)), "desired")
	gauge(descReplicas, float64(nginx.Status.ReadyReplicas), "ready")
	gauge(descReplicas, float64(nginx.Status.UpdatedReplicas), "updated")
	gauge(descRestarts, float64(nginx.Status.Restarts))
}

func conditionValue(status metav1.ConditionStatus) float64 {
	switch status {
	case metav1.ConditionTrue:
		return 1
	case metav1.ConditionFalse:
		return 0
	case metav1.ConditionUnknown:
	}
	return -1
}
