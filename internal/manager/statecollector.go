package manager

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
)

// collectTimeout bounds the reads from the cache at a scrape.
const collectTimeout = 5 * time.Second

// stateKind is a kind whose objects have metrics of their state.
type stateKind struct {
	// name is the plural of the kind, for messages.
	name string
	// objects counts the objects by condition, and omitted those without series of their own. series are those of an
	// object.
	objects, omitted *prometheus.Desc
	series           []*prometheus.Desc
	list             func(context.Context, client.Reader) ([]stateObject, error)
}

// stateObject is an object with its conditions. collect sends its series.
type stateObject struct {
	namespace, name string
	conditions      []metav1.Condition
	collect         func(stateSink)
}

// stateSink sends the series of an object.
type stateSink struct {
	out             chan<- prometheus.Metric
	namespace, name string
}

// gauge sends a gauge whose labels are the namespace, the name and others.
func (s stateSink) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{s.namespace, s.name}, labels...)...)
}

// conditions sends the conditions of an object, and the time of the last transition of Ready.
func (s stateSink) conditions(condition, transition *prometheus.Desc, conditions []metav1.Condition) {
	for _, c := range conditions {
		s.gauge(condition, conditionValue(c.Status), c.Type)
		if c.Type == v1alpha2.ConditionReady {
			s.gauge(transition, float64(c.LastTransitionTime.Unix()))
		}
	}
}

// stateCollector exports the state of every object of a kind from the cache at the time of the
// scrape, so that no series is stale or outlives its object.
type stateCollector struct {
	kind  stateKind
	cache client.Reader
	// elected is closed when this replica becomes the leader. Only the leader exports the objects,
	// so that sums are right and alerts fire once.
	elected <-chan struct{}
	// limit is the number of objects that get series of their own.
	limit int
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range append([]*prometheus.Desc{c.kind.objects, c.kind.omitted}, c.kind.series...) {
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
	objects, err := c.kind.list(ctx, c.cache)
	if err != nil {
		logf.Log.WithName("metrics").Error(err, "cannot list "+c.kind.name+" for metrics")
		return
	}
	// A cache has no order, and each scrape must export the same objects if there are too many.
	slices.SortFunc(objects, func(a, b stateObject) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	totals := map[[2]string]float64{}
	for i, object := range objects {
		for _, condition := range object.conditions {
			totals[[2]string{condition.Type, string(condition.Status)}]++
		}
		if i < c.limit {
			object.collect(stateSink{out, object.namespace, object.name})
		}
	}
	for key, n := range totals {
		out <- prometheus.MustNewConstMetric(c.kind.objects, prometheus.GaugeValue, n, key[0], key[1])
	}
	out <- prometheus.MustNewConstMetric(c.kind.omitted, prometheus.GaugeValue, float64(max(0, len(objects)-c.limit)))
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
