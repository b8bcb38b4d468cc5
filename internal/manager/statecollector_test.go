package manager

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/v1alpha2"
)

// unordered lists NginxOperators in a random order each time, like a cache.
type unordered struct{ client.Reader }

func (u unordered) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := u.Reader.List(ctx, list, options...)
	if all, ok := list.(*v1alpha2.NginxOperatorList); ok {
		rand.Shuffle(len(all.Items), func(i, j int) { all.Items[i], all.Items[j] = all.Items[j], all.Items[i] })
	}
	return err
}

// collected returns the names of the objects that have series of their own, and the number of those that
// have none.
func collected(t *testing.T, c *stateCollector) (names []string, without float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch family.GetName() {
			case "nginx_operator_restarts":
				for _, label := range metric.GetLabel() {
					if label.GetName() == "name" {
						names = append(names, label.GetValue())
					}
				}
			case "nginx_operator_objects_without_series":
				without = metric.GetGauge().GetValue()
			}
		}
	}
	slices.Sort(names)
	return names, without
}

// TestTheSameObjectsHaveSeries: each scrape exports the same objects. A series that comes and goes
// never fires an alert.
func TestTheSameObjectsHaveSeries(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for i := range 40 {
		builder.WithObjects(&v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%02d", i)}})
	}
	elected := make(chan struct{})
	close(elected)
	collector := newStateCollector(unordered{builder.Build()}, elected, 3)
	for range 3 {
		names, without := collected(t, collector)
		if diff := cmp.Diff([]string{"web-00", "web-01", "web-02"}, names); diff != "" || without != 37 {
			t.Errorf("%v objects have no series; -want +got:\n%s", without, diff)
		}
	}
}
