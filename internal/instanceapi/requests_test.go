package instanceapi

import (
	"math"
	"testing"
)

func TestBuckets(t *testing.T) {
	for _, tt := range []struct {
		seconds float64
		want    int
	}{
		{0, 0}, {.001, 0}, {.0011, 1}, {.002, 4}, {.1, 21}, {60, 50}, {70, 50}, {71, 51}, {1e9, 51},
	} {
		if got := Bucket(tt.seconds); got != tt.want {
			t.Errorf("%v s are in bucket %d, want %d", tt.seconds, got, tt.want)
		}
	}
	if last := bounds[len(bounds)-1]; last < 60 {
		t.Errorf("the buckets end at %v s", last)
	}
}

// TestQuantile: quantiles are within one bucket of the exact values.
func TestQuantile(t *testing.T) {
	for name, duration := range map[string]func(share float64) float64{
		"even":             func(share float64) float64 { return .01 + share },
		"skewed":           func(share float64) float64 { return .005 * math.Pow(1000, share) },
		"the same for all": func(float64) float64 { return .25 },
	} {
		var h Histogram
		const n = 10_000
		for i := range n {
			h.Observe(duration((float64(i)+.5)/n), 1)
		}
		for _, q := range []float64{.1, .5, .9, .99} {
			want := duration(q)
			got := h.Quantile(q)
			if got < want/growth || got > want*growth {
				t.Errorf("%s: quantile %v is %v s, want %v", name, q, got, want)
			}
			if above := h.Above(got); math.Abs(above-(1-q)*n) > 1 {
				t.Errorf("%s: %v are above quantile %v", name, above, q)
			}
		}
	}
}

func TestQuantileAtTheEdges(t *testing.T) {
	var none, fast, slow Histogram
	fast.Observe(0, 10)
	slow.Observe(3600, 10)
	for name, tt := range map[string]struct{ got, want float64 }{
		"of nothing":     {none.Quantile(.9), 0},
		"all of nothing": {none.Quantile(1), 0},
		"fast, none":     {fast.Quantile(0), 0},
		"fast, all":      {fast.Quantile(1), .001},
		"slow, none":     {slow.Quantile(0), bounds[50]},
		"slow, all":      {slow.Quantile(1), bounds[50]},
		"above, fast":    {fast.Above(.001), 0},
		"above, half":    {fast.Above(.0005), 5},
		"above, slow":    {slow.Above(1), 10},
		"above it all":   {slow.Above(7200), 0},
	} {
		if math.Abs(tt.got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, tt.got, tt.want)
		}
	}
}

func TestMerge(t *testing.T) {
	a, b := RequestWindow{Seconds: 60, Requests: 5, Errors: 1}, RequestWindow{Seconds: 65, Requests: 2}
	a.Latency.Observe(.01, 4)
	b.Latency.Observe(.01, 1)
	b.Latency.Observe(10, 1)
	want := RequestWindow{Seconds: 65, Requests: 7, Errors: 1}
	want.Latency.Observe(.01, 5)
	want.Latency.Observe(10, 1)
	ab, ba := a, b
	ab.Merge(b)
	ba.Merge(a)
	if ab != want || ba != want {
		t.Errorf("merged to %+v and %+v, want %+v", ab, ba, want)
	}
}
