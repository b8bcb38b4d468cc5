package traffic

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const metrics = `nginx_config_info{next="b",serving="a",stable="a"} 1
nginx_http_requests_total{code="2xx",method="GET",server="_"} 90
nginx_http_requests_total{code="5xx",method="GET",server="_"} 10
nginx_http_requests_total{code="2xx",method="GET",server="shop.example.com"} 20
nginx_connections{state="active"} 7
nginx_connections{state="waiting"} 3
nginx_resident_memory_bytes 1.048576e+06
# TYPE nginx_http_request_duration_seconds histogram
nginx_http_request_duration_seconds_bucket{server="_",le="0.01"} 50
nginx_http_request_duration_seconds_bucket{server="_",le="0.1"} 100
nginx_http_request_duration_seconds_bucket{server="_",le="+Inf"} 100
nginx_http_request_duration_seconds_sum{server="_"} 1
nginx_http_request_duration_seconds_count{server="_"} 100
`

func TestParse(t *testing.T) {
	got, err := Parse(strings.NewReader(metrics))
	latency := map[float64]float64{0.01: 50, 0.1: 100, math.Inf(1): 100}
	want := Pod{
		Counts:      Counts{Requests: 120, Errors: 10, Latency: latency, Serving: "a"},
		Servers:     map[string]Counts{"_": {Requests: 100, Errors: 10, Latency: latency}, "shop.example.com": {Requests: 20, Latency: map[float64]float64{}}},
		Connections: 7, Memory: 1 << 20,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v; -want +got:\n%s", err, diff)
	}
	if _, err := Parse(strings.NewReader("<html>")); err == nil {
		t.Error("HTML is taken for metrics")
	}
	if got, err := Parse(strings.NewReader("")); err != nil || got.Requests != 0 {
		t.Errorf("without metrics: %v, %v", got, err)
	}
}

// TestParseIsBounded: a pod that sends many short lines does not use up the memory of a client.
func TestParseIsBounded(t *testing.T) {
	if _, err := Parse(strings.NewReader(strings.Repeat("a 1\n", MaxLines+1))); err == nil || !strings.Contains(err.Error(), "more than 10000 lines") {
		t.Errorf("error %v", err)
	}
	if _, err := Parse(strings.NewReader(strings.Repeat("# a comment\n", MaxLines))); err != nil {
		t.Error(err)
	}
}

func TestRates(t *testing.T) {
	counts := func(requests, errors, fast, all float64) Counts {
		return Counts{Requests: requests, Errors: errors, Latency: map[float64]float64{0.01: fast, 0.1: all, math.Inf(1): all}}
	}
	for name, tt := range map[string]struct {
		before, after Counts
		seconds       float64
		want          Rates
	}{
		"served":     {counts(100, 1, 50, 100), counts(120, 3, 60, 120), 2, Rates{10, 1, new(0.01), new(0.0982)}},
		"idle":       {counts(100, 1, 50, 100), counts(100, 1, 50, 100), 2, Rates{}},
		"restarted":  {counts(100, 1, 50, 100), counts(10, 0, 10, 10), 2, Rates{5, 0, new(0.005), new(0.0099)}},
		"no time":    {counts(1, 1, 1, 1), counts(2, 1, 2, 2), 0, Rates{}},
		"very slow":  {Counts{}, Counts{Requests: 2, Latency: map[float64]float64{0.1: 0, math.Inf(1): 2}}, 1, Rates{2, 0, new(0.1), new(0.1)}},
		"not logged": {Counts{}, Counts{Requests: 2}, 1, Rates{Requests: 2}},
	} {
		got := tt.after.Since(tt.before).Over(tt.seconds)
		if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestPlus(t *testing.T) {
	a := Counts{Requests: 1, Errors: 1, Latency: map[float64]float64{1: 1}}
	got := (Counts{}).Plus(a).Plus(a)
	if diff := cmp.Diff(Counts{Requests: 2, Errors: 2, Latency: map[float64]float64{1: 2}}, got); diff != "" || a.Latency[1] != 1 {
		t.Errorf("-want +got:\n%s", diff)
	}
}
