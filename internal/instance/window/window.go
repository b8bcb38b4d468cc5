// Package window counts the requests of clients of the last hour by their results, so that the instance can
// report them for any time up to now, and its clients need no memory of their own. It only counts
// the requests that workers of the served configuration have answered, and starts again with
// another configuration. Requests of old workers, and earlier ones, would dilute the figures of a
// canary.
//
// Time is divided into slots of five seconds. A ring has a slot for each five seconds of the last
// hour, and the one that is being filled. The content of a slot from more than an hour ago is dropped
// when the slot is used again, and ignored if it is read before. The first slot begins with the
// configuration.
//
// The ring takes at most 160 KiB for the life of the process.
package window

import (
	"math"
	"sync"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

const (
	slotTime = instanceapi.WindowSlot * time.Second
	// slots is the number of slots for MaxWindow, and the one that is being filled.
	slots = instanceapi.MaxWindow*int(time.Second)/int(slotTime) + 1
)

// slot holds the requests that ended within one slotTime.
type slot struct {
	// number counts the slots since the start, from 1; 0: the slot was never used.
	number int64
	errors uint32
	// refused counts the requests that are no errors but were answered with 4xx.
	refused uint32
	// latency counts the requests that are not errors, with the buckets of
	// instanceapi.RequestWindow. A uint32 is enough: four billion requests do not end within a
	// slot.
	latency [instanceapi.LatencyBuckets]uint32
}

// Ring counts requests. It is safe for concurrent use.
type Ring struct {
	now func() time.Time

	mu sync.Mutex
	// revision is the counted configuration, and start is when it began to be counted.
	revision string
	start    time.Time
	slots    [slots]slot

	// recent counts the last requests, and recentInner those of them from the pod itself. These do not count if there are
	// clients outside of the pod: nginx can pass requests to itself, and old workers pass theirs to new ones. Behind a proxy in
	// the pod, all or nearly all are from there.
	recent, recentInner int
	// hadClients reports whether there were clients outside of the pod before the last StartComparison. A configuration that
	// makes nginx request itself without end, for clients that hang, does not turn them into none.
	hadClients bool
	// first are the answers of the configuration of the last StartComparison, and before are those before it.
	first, before Tally
	// inner is the number of its answers to the pod itself.
	inner int64
	begun string
	// shortWait is the time after which a client of that configuration that gives up counts as one without an answer.
	shortWait time.Duration
	// beforeAt is when before was counted, and own are the answers to the instance itself.
	beforeAt time.Time
	own      Tally
}

// Tally counts answers.
type Tally struct {
	// Answers counts all answers, and Bad those with 4xx, except 499, or 5xx.
	Answers, Bad int64
	// GaveUp counts the requests whose clients closed the connection (499) after Tally.ShortWait of the answers before the
	// load. It is 0 for those before.
	GaveUp int64
	// Own counts the requests of the instance itself, and of others in the pod, which are not in Answers.
	Own int64
	// Latency holds the durations of the answers that are not Bad and not in GaveUp. Before a load, it includes those with
	// 4xx and 499.
	Latency instanceapi.Histogram
	// Time is the time in which they were given.
	Time time.Duration
}

// A request takes far longer than before if it takes muchLonger times as long as nine in ten did, and at least shortest.
const (
	muchLonger = 3
	shortest   = 100 * time.Millisecond
)

// Patience returns how long a request must take so that it takes far longer than those counted, and never less than least.
func (t *Tally) Patience(least time.Duration) time.Duration {
	const most = 0.9
	return max(least, time.Duration(muchLonger*t.Latency.Quantile(most)*float64(time.Second)))
}

// LongerThan returns how many of the answers that are not bad took longer than a duration.
func (t *Tally) LongerThan(limit time.Duration) int64 {
	return int64(math.Round(t.Latency.Above(limit.Seconds())))
}

// minBaselineResponses is the least number of answers that replace the earlier ones in before: a
// configuration that was rolled back at once leaves too few to compare with.
const minBaselineResponses = 20

// baselineWindow is the time before a load whose answers are compared with those after it.
const baselineWindow = 30 * time.Second

// StartComparison records the configuration that nginx is about to load, and starts to count its answers for
// First.
func (r *Ring) StartComparison(revision string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	t := r.tally(baselineWindow)
	if enough := t.Answers >= minBaselineResponses; enough || now.Sub(r.beforeAt) > 2*baselineWindow {
		r.before, r.beforeAt = t, now
		r.hadClients = r.recentClients() || r.hadClients && enough
	}
	r.begun, r.first, r.own, r.inner = revision, Tally{}, Tally{}, 0
	r.shortWait = r.before.Patience(shortest)
}

// CountOwnRequest records an answer since StartComparison to the instance itself. It is logged like any other in the pod, so
// Comparison subtracts it where these count.
func (r *Ring) CountOwnRequest(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own.Answers++
	if refused(status) {
		r.own.Bad++
	}
}

// Comparison returns the answers to clients by the configuration of StartComparison, and those of the
// configuration before it.
func (r *Ring) Comparison() (first, before Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = r.first
	if r.hasClients() {
		first.Own = r.inner
		return first, r.before
	}
	first.Own = min(r.own.Answers, r.first.Answers)
	first.Answers -= first.Own
	first.Bad = min(max(0, r.first.Bad-r.own.Bad), first.Answers)
	return first, r.before
}

// count counts an answer.
func (t *Tally) count(status int, seconds float64, bucket int, shortWait time.Duration) {
	t.Answers++
	switch {
	case refused(status):
		t.Bad++
	case status == statusGaveUp && seconds >= shortWait.Seconds():
		t.GaveUp++
	default:
		t.Latency[bucket]++
	}
}

// tally counts the answers within a time up to now, in whole slots.
func (r *Ring) tally(within time.Duration) Tally {
	elapsed := r.now().Sub(r.start)
	first, last := slotNumber(max(0, elapsed-within)), slotNumber(elapsed)
	t := Tally{Time: elapsed - time.Duration(first-1)*slotTime}
	for i := range r.slots {
		s := &r.slots[i]
		if s.number < first || s.number > last {
			continue
		}
		t.Answers += int64(s.errors)
		t.Bad += int64(s.errors) + int64(s.refused)
		for bucket, n := range s.latency {
			t.Answers += int64(n)
			t.Latency[bucket] += int64(n)
		}
	}
	return t
}

// NewRing returns a Ring that counts nothing before Serve. The clock must be monotonic.
func NewRing(now func() time.Time) *Ring {
	return &Ring{now: now, start: now()}
}

// SetServedRevision records the configuration that is served from now on. It changes nothing if that is the
// same, as after a reload for a new certificate.
func (r *Ring) SetServedRevision(revision string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revision == revision {
		return
	}
	r.revision, r.start = revision, r.now()
	clear(r.slots[:])
}

// recentRequests is how many requests decide whether there are clients outside of the pod: at least one in clientShare.
const (
	recentRequests = 1000
	clientShare    = 10
)

// see counts a request among the recent ones.
func (r *Ring) see(inner bool) {
	if r.recent++; inner {
		r.recentInner++
	}
	if r.recent == recentRequests {
		r.recent, r.recentInner = r.recent/2, r.recentInner/2
	}
}

// hasClients reports whether requests come from outside of the pod, or did before the last StartComparison.
func (r *Ring) hasClients() bool { return r.hadClients || r.recentClients() }

// recentClients reports whether enough of the recent requests come from outside of the pod.
func (r *Ring) recentClients() bool { return clientShare*(r.recent-r.recentInner) > r.recent }

// Answer is what counts of a request.
type Answer struct {
	Status  int
	Seconds float64
	// Inner reports whether the client is in the pod.
	Inner bool
}

// Count counts a request that a worker of a configuration has just answered. It does not allocate.
func (r *Ring) Count(revision []byte, a Answer) {
	status, bucket := a.Status, instanceapi.Bucket(a.Seconds)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.see(a.Inner)
	isFirst := r.begun != "" && string(revision) == r.begun
	if a.Inner && r.hasClients() {
		if isFirst {
			r.inner++
		}
		return
	}
	if isFirst {
		r.first.count(status, a.Seconds, bucket, r.shortWait)
	}
	if string(revision) != r.revision {
		return
	}
	number := slotNumber(r.now().Sub(r.start))
	s := &r.slots[number%int64(slots)]
	if s.number != number {
		*s = slot{number: number}
	}
	if status >= 500 {
		s.errors++
		return
	}
	if refused(status) {
		s.refused++
	}
	s.latency[bucket]++
}

// Last returns the requests that ended within a time up to now, in whole slots. An empty revision
// stands for the served one; for any other revision there are none.
func (r *Ring) Last(revision string, within time.Duration) instanceapi.RequestWindow {
	r.mu.Lock()
	defer r.mu.Unlock()
	if revision != "" && revision != r.revision {
		return instanceapi.RequestWindow{Revision: revision}
	}
	elapsed := r.now().Sub(r.start)
	first, last := slotNumber(max(0, elapsed-within)), slotNumber(elapsed)
	covered := elapsed - time.Duration(first-1)*slotTime
	w := instanceapi.RequestWindow{Revision: r.revision, Seconds: int64(covered / time.Second)}
	for i := range r.slots {
		s := &r.slots[i]
		if s.number < first || s.number > last {
			continue
		}
		w.Requests += int64(s.errors)
		w.Errors += int64(s.errors)
		for bucket, n := range s.latency {
			w.Requests += int64(n)
			w.Latency[bucket] += int64(n)
		}
	}
	return w
}

// statusGaveUp is what nginx logs when the client has closed the connection before there was an answer.
const statusGaveUp = 499

// refused reports whether a status is an error of the request or of the server. 499 is neither: the
// client did not wait.
func refused(status int) bool { return status >= 400 && status != statusGaveUp }

// slotNumber returns the number of the slot at a time after the start.
func slotNumber(elapsed time.Duration) int64 { return int64(elapsed/slotTime) + 1 }
