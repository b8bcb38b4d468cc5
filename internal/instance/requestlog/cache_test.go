package requestlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// cached returns a line with what a cache logs.
func cached(field string) []byte {
	return append(line("200", "GET", "0.1", "100", "1", "_", "-"), "\t"+field...)
}

func newCacheLog() *Log {
	l, registry := newLog(), prometheus.NewRegistry()
	l.metrics.Cache = NewCacheMetrics(registry)
	return l
}

func TestParseCache(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	for field, want := range map[string]cacheEntry{
		"request HIT edge 3":             {Result: text("HIT"), Source: text("edge"), Rule: text("3")},
		"request none none ":             {Result: text("none"), Source: text("none"), Rule: text("")},
		"origin app 200":                 {Origin: text("app"), OriginStatus: 200},
		"origin app 502, 200 : 503, 504": {Origin: text("app"), OriginStatus: 504},
		"origin app -":                   {Origin: text("app")},
		"origin app ":                    {Origin: text("app")},
		"internal":                       {Internal: true},
	} {
		var got Entry
		if err := parseWithCache(cached(field), &got); err != nil {
			t.Errorf("%s: %v", field, err)
		}
		if diff := cmp.Diff(want, got.Cache); diff != "" {
			t.Errorf("%s: -want +got:\n%s", field, diff)
		}
	}
	for _, field := range []string{"", "-", "request", "request ", "origin", "other HIT edge 3", "origin\tapp 200", "internal "} {
		if err := parseWithCache(cached(field), &Entry{}); err == nil {
			t.Errorf("%q: no error", field)
		}
	}
	if err := parse(cached("request HIT edge 3"), &Entry{}); err == nil {
		t.Error("a pod without a cache accepts the line of one")
	}
}

// TestCacheCounts: each line is counted as what it is. Only a client's request is one for all other figures.
func TestCacheCounts(t *testing.T) {
	l := newCacheLog()
	var e Entry
	for _, text := range [][]byte{
		cached("request HIT edge 0"), cached("request HIT edge 0"), cached("request MISS shards "), cached("request bypass origin 63"),
		cached("request SCARCE elsewhere 64"), cached("origin app 200"), cached("origin app 502"), cached("origin app -"), cached("nonsense"),
		cached("internal"), cached("request handover shards 1"),
		line("200", "GET", "0.1", "100", "1", "_", "-"), // of a worker with the configuration of an earlier release
	} {
		l.count(text, &e)
	}
	want := `
# HELP nginx_cache_origin_requests_total Requests to origins, by class of the status code of the last attempt.
# TYPE nginx_cache_origin_requests_total counter
nginx_cache_origin_requests_total{code="0xx",origin="app"} 1
nginx_cache_origin_requests_total{code="1xx",origin="app"} 0
nginx_cache_origin_requests_total{code="2xx",origin="app"} 1
nginx_cache_origin_requests_total{code="3xx",origin="app"} 0
nginx_cache_origin_requests_total{code="4xx",origin="app"} 0
nginx_cache_origin_requests_total{code="5xx",origin="app"} 1
`
	if err := testutil.CollectAndCompare(l.metrics.Cache.origin, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	want = `
# HELP nginx_cache_requests_total Requests by the result for the cache of the pod, by where the answer is from, and by rule.
# TYPE nginx_cache_requests_total counter
nginx_cache_requests_total{result="bypass",rule="63",source="origin"} 1
nginx_cache_requests_total{result="handover",rule="1",source="shards"} 1
nginx_cache_requests_total{result="hit",rule="0",source="edge"} 2
nginx_cache_requests_total{result="miss",rule="default",source="shards"} 1
nginx_cache_requests_total{result="other",rule="other",source="other"} 1
`
	if err := testutil.CollectAndCompare(l.metrics.Cache.requests, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if got := testutil.ToFloat64(l.metrics.Cache.sent.WithLabelValues("hit", "edge")); got != 200 {
		t.Errorf("%v bytes of hits", got)
	}
	if got := testutil.ToFloat64(l.metrics.requests.WithLabelValues("_", "GET", "2xx")); got != 7 {
		t.Errorf("%v requests of clients, want 7", got)
	}
	if got := l.recent.Last("", time.Minute).Requests; got != 7 {
		t.Errorf("the last minute had %d requests, want 7", got)
	}
	if got := testutil.ToFloat64(l.metrics.malformed); got != 1 {
		t.Errorf("%v lines were malformed, want 1", got)
	}
}

func TestCacheCardinalityIsBounded(t *testing.T) {
	l := newCacheLog()
	var e Entry
	for i := range 1000 {
		l.count(cached(fmt.Sprintf("request R%d s%d %d", i, i, i)), &e)
		l.count(cached(fmt.Sprintf("origin o%d 200", i)), &e)
	}
	if n := testutil.CollectAndCount(l.metrics.Cache.requests); n > maxRules+1 {
		t.Errorf("there are %d series of requests", n)
	}
	if n := testutil.CollectAndCount(l.metrics.Cache.origin); n > (maxOrigins+1)*len(classes) {
		t.Errorf("there are %d series of origins", n)
	}
	if n := testutil.ToFloat64(l.metrics.Cache.origin.WithLabelValues(other, "2xx")); n != 1000-maxOrigins {
		t.Errorf("%v requests to other origins, want %d", n, 1000-maxOrigins)
	}
}

func TestACachedRequestAllocatesNothing(t *testing.T) {
	for _, field := range []string{"request HIT edge 3", "origin app 200", "internal"} {
		l, text := newCacheLog(), cached(field)
		var e Entry
		if n := testing.AllocsPerRun(1000, func() { l.count(text, &e) }); n != 0 {
			t.Errorf("%s: a request costs %v allocations", field, n)
		}
	}
}

func BenchmarkCachedRequest(b *testing.B) {
	l, text := newCacheLog(), cached("request HIT edge 3")
	var e Entry
	b.ReportAllocs()
	for b.Loop() {
		l.count(text, &e)
	}
}

// FuzzParseCache: whatever is logged, it is counted once, unless it is part of a request that is.
func FuzzParseCache(f *testing.F) {
	f.Add("request HIT edge 3")
	f.Add("origin app 502, -")
	f.Fuzz(func(t *testing.T, field string) {
		l := newCacheLog()
		var e Entry
		l.count(cached(field), &e)
		total := testutil.ToFloat64(l.metrics.malformed) + sum(t, l.metrics.Cache.requests) + sum(t, l.metrics.Cache.origin)
		want := 1.0
		if field == "internal" {
			want = 0
		}
		if total != want {
			t.Errorf("%q: counted %v times", field, total)
		}
	})
}

// sum returns the sum of all series of a counter.
func sum(t *testing.T, c prometheus.Collector) (total float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			total += m.GetCounter().GetValue()
		}
	}
	return total
}
