package manager

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
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
	collector := &stateCollector{nginxState, unordered{builder.Build()}, elected, 3}
	for range 3 {
		names, without := collected(t, collector)
		if diff := cmp.Diff([]string{"web-00", "web-01", "web-02"}, names); diff != "" || without != 37 {
			t.Errorf("%v objects have no series; -want +got:\n%s", without, diff)
		}
	}
}

// TestCacheState: a shard of the ring that has no pod, or one that is not ready, is away; a pod that is no longer in the
// ring does not count.
func TestCacheState(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := cachev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cache := &cachev1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}}
	cache.Spec.Shards.Replicas = new(int32(3))
	cache.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, LastTransitionTime: metav1.Unix(1000, 0)}}
	cache.Status.Shards = &cachev1alpha1.TierStatus{ReadyReplicas: 2, UpdatedReplicas: 3, Restarts: 4, Pods: []cachev1alpha1.PodStatus{
		{Name: "front-shards-0", Ready: true}, {Name: "front-shards-1"}, {Name: "front-shards-3", Ready: true},
	}}
	elected := make(chan struct{})
	close(elected)
	collector := &stateCollector{cacheState, fake.NewClientBuilder().WithScheme(scheme).WithObjects(cache).Build(), elected, 10}
	const want = `
# HELP nginx_operator_cache_condition A condition of an NginxCache: 1 True, 0 False, -1 Unknown.
# TYPE nginx_operator_cache_condition gauge
nginx_operator_cache_condition{condition="Ready",name="front",namespace="shop"} 0
# HELP nginx_operator_cache_ready_transition_time_seconds Time at which the condition Ready of an NginxCache last changed, in seconds since the epoch.
# TYPE nginx_operator_cache_ready_transition_time_seconds gauge
nginx_operator_cache_ready_transition_time_seconds{name="front",namespace="shop"} 1000
# HELP nginx_operator_cache_replicas Pods of a tier of an NginxCache, by state (desired, ready, updated).
# TYPE nginx_operator_cache_replicas gauge
nginx_operator_cache_replicas{name="front",namespace="shop",state="desired",tier="edge"} 2
nginx_operator_cache_replicas{name="front",namespace="shop",state="desired",tier="shards"} 3
nginx_operator_cache_replicas{name="front",namespace="shop",state="ready",tier="edge"} 0
nginx_operator_cache_replicas{name="front",namespace="shop",state="ready",tier="shards"} 2
nginx_operator_cache_replicas{name="front",namespace="shop",state="updated",tier="edge"} 0
nginx_operator_cache_replicas{name="front",namespace="shop",state="updated",tier="shards"} 3
# HELP nginx_operator_cache_restarts Container restarts of the current pods of a tier of an NginxCache.
# TYPE nginx_operator_cache_restarts gauge
nginx_operator_cache_restarts{name="front",namespace="shop",tier="edge"} 0
nginx_operator_cache_restarts{name="front",namespace="shop",tier="shards"} 4
# HELP nginx_operator_cache_shard_ready For each shard of the ring of an NginxCache, 1 if its pod is ready, otherwise 0.
# TYPE nginx_operator_cache_shard_ready gauge
nginx_operator_cache_shard_ready{name="front",namespace="shop",shard="front-shards-0"} 1
nginx_operator_cache_shard_ready{name="front",namespace="shop",shard="front-shards-1"} 0
nginx_operator_cache_shard_ready{name="front",namespace="shop",shard="front-shards-2"} 0
# HELP nginx_operator_caches NginxCaches by condition and its status.
# TYPE nginx_operator_caches gauge
nginx_operator_caches{condition="Ready",status="False"} 1
# HELP nginx_operator_caches_without_series NginxCaches without series of their own, because there are more than --metrics-max-objects.
# TYPE nginx_operator_caches_without_series gauge
nginx_operator_caches_without_series 0
`
	if err := testutil.CollectAndCompare(collector, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
