// Package window remembers what became of the requests of the last hour, so that the
// instance can tell it of any time up to now: those who judge an instance keep no memory
// of their own. It counts those that workers of the configuration served now have answered, and
// begins anew with another configuration. What old workers still answer, and what came before, would
// dilute the figures of a canary.
//
// Time is cut into slots of five seconds. A ring has a slot for each of the last hour, and
// the one that is being filled. What a slot held an hour ago is dropped when the slot is
// used again, and left out when it is read before.
// The first slot begins when the configuration does.
//
// The ring takes 160 KiB for the life of the process, and no more whatever comes.
package window

import (
	"sync"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

const (
	slotTime = instanceapi.WindowSlot * time.Second
	// slots for MaxWindow, and the one that is being filled.
	slots = instanceapi.MaxWindow*int(time.Second)/int(slotTime) + 1
)

// slot has the requests that ended within slotTime.
type slot struct {
	// number counts the slots since the start, from 1 on: 0 is a slot that was never used.
	number int64
	errors uint32
	// refused are those that are no errors and were answered with 4xx.
	refused uint32
	// latency of those that are not errors, as in instanceapi.RequestWindow. More than
	// four billion requests do not end within a slot.
	latency [instanceapi.LatencyBuckets]uint32
}

// Ring counts requests. It may be used from everywhere.
type Ring struct {
	now func() time.Time

	mu sync.Mutex
	// revision that is counted, and since when.
	revision string
	start    time.Time
	slots    [slots]slot

	// first are the answers of the configuration that was begun last, and before those until then.
	first, before Tally
	begun         string
	// beforeAt is until when those before were counted, and own are the answers to the instance itself.
	beforeAt time.Time
	own      Tally
}

// Tally counts answers.
type Tally struct {
	// Answers, and those that were 4xx, except 499, or 5xx.
	Answers, Bad int64
	// Time in which they were given.
	Time time.Duration
}

// leastBefore is how many answers replace those from before the configuration before: one that was gone
// back from at once leaves none to compare with.
const leastBefore = 20

// beforeTime is for how long answers before another configuration are compared with its own.
const beforeTime = 30 * time.Second

// Begin tells which configuration nginx is about to load. Its answers are counted for First from now on.
func (r *Ring) Begin(revision string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if t := r.tally(beforeTime); t.Answers >= leastBefore || now.Sub(r.beforeAt) > 2*beforeTime {
		r.before, r.beforeAt = t, now
	}
	r.begun, r.first, r.own = revision, Tally{}, Tally{}
}

// Own tells of an answer to the instance itself since Begin. It is logged like any other.
func (r *Ring) Own(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own.Answers++
	if refused(status) {
		r.own.Bad++
	}
}

// First are the answers to clients of the configuration of Begin until now, and those of the one that
// was served before it.
func (r *Ring) First() (first, before Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = Tally{Answers: max(0, r.first.Answers-r.own.Answers), Bad: max(0, r.first.Bad-r.own.Bad)}
	first.Bad = min(first.Bad, first.Answers)
	return first, r.before
}

// tally counts what was answered within a time up to now, in whole slots.
func (r *Ring) tally(within time.Duration) Tally {
	elapsed := r.now().Sub(r.start)
	first, last := number(max(0, elapsed-within)), number(elapsed)
	t := Tally{Time: elapsed - time.Duration(first-1)*slotTime}
	for i := range r.slots {
		s := &r.slots[i]
		if s.number < first || s.number > last {
			continue
		}
		t.Answers += int64(s.errors)
		t.Bad += int64(s.errors) + int64(s.refused)
		for _, n := range s.latency {
			t.Answers += int64(n)
		}
	}
	return t
}

// NewRing returns a Ring that counts nothing before Serve, by a clock that does not go back.
func NewRing(now func() time.Time) *Ring {
	return &Ring{now: now, start: now()}
}

// Serve tells which configuration is served from now on. The same one once more, for a new
// certificate, changes nothing.
func (r *Ring) Serve(revision string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revision == revision {
		return
	}
	r.revision, r.start = revision, r.now()
	clear(r.slots[:])
}

// Count counts a request that a worker of a configuration has just answered with a status, after so
// many seconds. It allocates nothing.
func (r *Ring) Count(revision []byte, status int, seconds float64) {
	bucket := instanceapi.Bucket(seconds)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun != "" && string(revision) == r.begun {
		r.first.Answers++
		if refused(status) {
			r.first.Bad++
		}
	}
	if string(revision) != r.revision {
		return
	}
	number := number(r.now().Sub(r.start))
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

// Last is what ended within a time up to now, in whole slots. With a revision that is not the one that is
// served, nothing did; an empty one stands for the one that is.
func (r *Ring) Last(revision string, within time.Duration) instanceapi.RequestWindow {
	r.mu.Lock()
	defer r.mu.Unlock()
	if revision != "" && revision != r.revision {
		return instanceapi.RequestWindow{Revision: revision}
	}
	elapsed := r.now().Sub(r.start)
	first, last := number(max(0, elapsed-within)), number(elapsed)
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

// refused tells whether an answer below 600 is an error of the request or of the server. With 499 it was the client
// that did not wait.
func refused(status int) bool { return status >= 400 && status != 499 }

// number is that of the slot at a time after the start.
func number(elapsed time.Duration) int64 { return int64(elapsed/slotTime) + 1 }
