package instanceapi

import (
	"errors"
	"math"
	"sort"
)

// ParameterSeconds is a parameter of PathRequests: a whole number of seconds from 1 to MaxWindow.
const (
	ParameterSeconds = "seconds"
	MaxWindow        = 3600
	// ParameterRevision is a parameter of PathRequests that restricts the answer to the requests
	// that workers of a configuration have answered. Releases that do not know it ignore it, and
	// leave RequestWindow.Revision empty.
	ParameterRevision = "revision"
	// WindowSlot is how much earlier than requested a RequestWindow may begin, in seconds.
	WindowSlot = 5
)

// RequestWindow counts the requests that ended within a time up to now, by their results. It does
// not include requests of the instance itself.
type RequestWindow struct {
	// Revision is the configuration whose workers answered the requests. It is empty in answers of
	// older releases, which also count requests from before a load and those of old workers.
	Revision string `json:"revision,omitempty" max:"128"`
	// Seconds is the time that the window covers, in whole seconds. It can be slightly longer than
	// requested, because requests are counted in slots, and is shorter for a younger instance.
	Seconds int64 `json:"seconds"`
	// Requests counts all requests, and Errors those that were answered with 5xx. A client that
	// closes the connection (499) is not an error.
	Requests int64 `json:"requests"`
	Errors   int64 `json:"errors"`
	// Latency holds the requests that are not Errors, so that fast errors cannot make up for slow
	// responses.
	Latency Histogram `json:"latency"`
	// InProgress is the number of requests that nginx handles now, whatever configuration they are of. A request is in
	// none of the other counts before it ends. 0 if it is unknown, as in releases before 0.6.
	InProgress int64 `json:"inProgress,omitempty"`
}

// Merge adds the window of another instance. It ignores the revisions.
func (w *RequestWindow) Merge(other RequestWindow) {
	w.Seconds = max(w.Seconds, other.Seconds)
	w.Requests += other.Requests
	w.Errors += other.Errors
	w.InProgress += other.InProgress
	for i, n := range other.Latency {
		w.Latency[i] += n
	}
}

// mostCounted is more than a pod can answer in MaxWindow, and small enough for sums over many pods.
const mostCounted = 1 << 40

// check returns an error for counts that no instance can have, because pods are not trusted.
func (w *RequestWindow) check() error {
	for _, n := range w.Latency {
		if n < 0 || n > mostCounted {
			return errors.New("a latency count is impossible")
		}
	}
	if w.InProgress < 0 || w.InProgress > mostCounted {
		return errors.New("the number of requests in progress is impossible")
	}
	if w.Seconds < 0 || w.Errors < 0 || w.Requests > mostCounted || w.Errors > w.Requests || w.Latency.Count() > w.Requests-w.Errors {
		return errors.New("the counts contradict each other")
	}
	return nil
}

// The buckets of a Histogram are part of the contract. Each bound is a quarter higher than the one
// before, so quantiles are exact enough to be compared.
const (
	firstBound = 0.001
	growth     = 1.25
	// LatencyBuckets is the number of buckets: 50 from 1 ms to 70 s, one below and one above.
	LatencyBuckets = 52
)

// bounds are the upper bounds of all buckets except the last, in seconds.
var bounds = func() (b [LatencyBuckets - 1]float64) {
	for i := range b {
		b[i] = firstBound * math.Pow(growth, float64(i))
	}
	return b
}()

// Histogram counts durations. Bucket i counts those up to 1 ms · 1.25^i that are in no earlier
// bucket, and the last one counts all longer ones.
type Histogram [LatencyBuckets]int64

// Bucket returns the index of the bucket for a duration in seconds.
func Bucket(seconds float64) int { return sort.SearchFloat64s(bounds[:], seconds) }

// Observe adds a duration in seconds the given number of times.
func (h *Histogram) Observe(seconds float64, times int64) { h[Bucket(seconds)] += times }

// Count returns the number of durations.
func (h *Histogram) Count() int64 {
	var all int64
	for _, n := range h {
		all += n
	}
	return all
}

// Quantile returns the number of seconds that the share q (0 to 1) of the durations does not
// exceed, or 0 if there are none. Durations are assumed to be evenly distributed within a bucket,
// and those above all bounds count as the highest bound.
func (h *Histogram) Quantile(q float64) float64 {
	rank := q * float64(h.Count())
	var below float64
	for i, n := range h {
		if n == 0 || below+float64(n) < rank {
			below += float64(n)
			continue
		}
		low, high := bucket(i)
		return low + (high-low)*max(0, rank-below)/float64(n)
	}
	return 0
}

// Above returns how many durations are longer than the given seconds, with the same assumptions.
func (h *Histogram) Above(seconds float64) float64 {
	var above float64
	for i, n := range h {
		switch low, high := bucket(i); {
		case low >= seconds:
			above += float64(n)
		case high > seconds:
			above += float64(n) * (high - seconds) / (high - low)
		}
	}
	return above
}

// bucket returns the bounds of bucket i. The last one has no width.
func bucket(i int) (low, high float64) {
	if i > 0 {
		low = bounds[i-1]
	}
	return low, bounds[min(i, len(bounds)-1)]
}
