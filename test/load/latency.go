package load

import (
	"math"
	"time"
)

// Latency has the times of successful requests, in seconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

const (
	// latencyGrowth is the ratio of the widths of adjacent buckets, which bounds the error of a
	// quantile.
	latencyGrowth  = 1.05
	latencyBuckets = 420
	latencyUnit    = time.Microsecond
)

// histogram keeps durations in buckets, so that its size does not depend on their number.
type histogram struct {
	buckets [latencyBuckets]int64
	count   int64
	longest time.Duration
}

func (h *histogram) add(d time.Duration) {
	h.buckets[bucket(d)]++
	h.count++
	h.longest = max(h.longest, d)
}

func bucket(d time.Duration) int {
	units := float64(d) / float64(latencyUnit)
	if units <= 1 {
		return 0
	}
	return min(int(math.Log(units)/math.Log(latencyGrowth)), latencyBuckets-1)
}

// quantile returns the upper end of the bucket that contains the quantile q.
func (h *histogram) quantile(q float64) float64 {
	rank, seen := int64(math.Ceil(q*float64(h.count))), int64(0)
	for i, n := range h.buckets {
		seen += n
		if n > 0 && seen >= rank {
			upper := math.Pow(latencyGrowth, float64(i+1)) * latencyUnit.Seconds()
			return min(upper, h.longest.Seconds())
		}
	}
	return 0
}

func (h *histogram) latency() Latency {
	return Latency{
		P50: h.quantile(0.5), P90: h.quantile(0.9), P99: h.quantile(0.99), P999: h.quantile(0.999),
		Max: h.longest.Seconds(),
	}
}
