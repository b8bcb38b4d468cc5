package instanceapi

import (
	"errors"
	"math"
	"sort"
)

// ParameterSeconds of PathRequests is a whole number of seconds from 1 to MaxWindow.
const (
	ParameterSeconds = "seconds"
	MaxWindow        = 3600
	// ParameterRevision of PathRequests restricts the answer to the requests that workers of a
	// configuration have answered. A release that does not know it ignores it, and leaves
	// RequestWindow.Revision empty.
	ParameterRevision = "revision"
	// WindowSlot is the time in seconds by which a RequestWindow may begin too early.
	WindowSlot = 5
)

// RequestWindow is what became of the requests that ended within a time up to now. A
// request of the instance itself is not in it.
type RequestWindow struct {
	// Revision of the configuration whose workers answered them; empty in answers of releases
	// that do not tell: requests from before a load, and those of old workers, count there.
	Revision string `json:"revision,omitempty"`
	// Seconds that it covers, in whole ones. They are a few more than were asked for, as
	// requests are counted in slots, and fewer for an instance that is younger.
	Seconds int64 `json:"seconds"`
	// Requests, whatever became of them, and Errors, those that were answered with 5xx. A
	// client that hangs up (499) makes no error.
	Requests int64 `json:"requests"`
	Errors   int64 `json:"errors"`
	// Latency of the requests that are not Errors: an error that comes fast must not make
	// up for an answer that comes late.
	Latency Histogram `json:"latency"`
}

// Merge adds what another instance counted meanwhile. Of which revisions that is is not kept.
func (w *RequestWindow) Merge(other RequestWindow) {
	w.Seconds = max(w.Seconds, other.Seconds)
	w.Requests += other.Requests
	w.Errors += other.Errors
	for i, n := range other.Latency {
		w.Latency[i] += n
	}
}

// mostCounted is more than a pod can answer in MaxWindow, and little enough for sums over
// many pods.
const mostCounted = 1 << 40

// check refuses what no instance counts. A pod is not trusted to tell the truth.
func (w *RequestWindow) check() error {
	for _, n := range w.Latency {
		if n < 0 || n > mostCounted {
			return errors.New("a count of the latency is not one")
		}
	}
	if w.Seconds < 0 || w.Errors < 0 || w.Requests > mostCounted || w.Errors > w.Requests || w.Latency.Count() > w.Requests-w.Errors {
		return errors.New("the counts contradict each other")
	}
	return nil
}

// The buckets of a Histogram are part of the contract. They grow by a quarter, so that a
// quantile is known well enough to compare with another one.
const (
	firstBound = 0.001
	growth     = 1.25
	// LatencyBuckets is the number of buckets: 50 from 1 ms to a minute, the one below and
	// the one above.
	LatencyBuckets = 52
)

// bounds has the upper bounds of all buckets but the last one, in seconds.
var bounds = func() (b [LatencyBuckets - 1]float64) {
	for i := range b {
		b[i] = firstBound * math.Pow(growth, float64(i))
	}
	return b
}()

// Histogram counts durations. Bucket i has those up to 1 ms · 1.25^i that are in no bucket
// before it, and the last one all that are longer.
type Histogram [LatencyBuckets]int64

// Bucket is the index of the bucket that a duration in seconds belongs to.
func Bucket(seconds float64) int { return sort.SearchFloat64s(bounds[:], seconds) }

// Observe counts durations of so many seconds.
func (h *Histogram) Observe(seconds float64, times int64) { h[Bucket(seconds)] += times }

// Count is the number of durations.
func (h *Histogram) Count() int64 {
	var all int64
	for _, n := range h {
		all += n
	}
	return all
}

// Quantile is the number of seconds that the share q (0 to 1) of the durations does not
// exceed; 0 if there are none. Inside a bucket they count as evenly spread, and what is
// longer than all bounds counts as the last one.
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

// Above is how many durations are longer than so many seconds, by the same reckoning.
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

// bucket is what lies in bucket i. The last one has no width.
func bucket(i int) (low, high float64) {
	if i > 0 {
		low = bounds[i-1]
	}
	return low, bounds[min(i, len(bounds)-1)]
}
