package window

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// clock is a clock that only advances when the test does so.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// served is the configuration of most tests.
var served = []byte("served")

func newRing() (*Ring, *clock) {
	c := &clock{}
	c.advance(1000 * time.Hour)
	r := NewRing(c.now)
	r.SetServedRevision(string(served))
	return r, c
}

// counts is a RequestWindow without the latency.
type counts struct{ Seconds, Requests, Errors int64 }

func (r *Ring) counts(within time.Duration) counts {
	w := r.Last("", within)
	return counts{w.Seconds, w.Requests, w.Errors}
}

func TestWhatCounts(t *testing.T) {
	r, c := newRing()
	c.advance(7 * time.Second)
	for status, seconds := range map[int]float64{200: .01, 304: .02, 404: .03, 499: .04, 0: .05, 500: 1, 502: 2, 504: 3, 599: 4} {
		r.Count(served, Answer{Status: status, Seconds: seconds})
	}
	want := instanceapi.RequestWindow{Revision: string(served), Seconds: 7, Requests: 9, Errors: 4}
	for _, seconds := range []float64{.01, .02, .03, .04, .05} {
		want.Latency.Observe(seconds, 1)
	}
	if diff := cmp.Diff(want, r.Last("", time.Minute)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSlots: with one request per second, each window counts its whole slots and the current one.
func TestSlots(t *testing.T) {
	r, c := newRing()
	tick := func(seconds int) {
		for range seconds {
			c.advance(time.Second / 2)
			r.Count(served, Answer{Status: 200, Seconds: 0})
			c.advance(time.Second / 2)
		}
	}
	check := func(within time.Duration, want counts) {
		t.Helper()
		if got := r.counts(within); got != want {
			t.Errorf("the last %s: %+v, want %+v", within, got, want)
		}
	}
	check(time.Hour, counts{})
	tick(3)
	check(time.Second, counts{3, 3, 0})
	check(time.Hour, counts{3, 3, 0})
	tick(9)
	// 12 s: two whole slots, and two seconds of the third.
	check(time.Second, counts{2, 2, 0})
	check(2*time.Second, counts{2, 2, 0})
	check(3*time.Second, counts{7, 7, 0})
	check(12*time.Second, counts{12, 12, 0})
	check(time.Hour, counts{12, 12, 0})
	tick(3600)
	// After 3612 s, it returns the requested time and two seconds more.
	check(time.Hour, counts{3602, 3602, 0})
	tick(7200)
	check(time.Hour, counts{3602, 3602, 0})
	check(time.Minute, counts{62, 62, 0})
}

// TestGaps: the content of a slot from one or more hours before is not counted.
func TestGaps(t *testing.T) {
	for _, gap := range []time.Duration{time.Hour + slotTime, 2 * time.Hour, 100 * time.Hour, time.Duration(slots) * slotTime, 5 * time.Duration(slots) * slotTime} {
		r, c := newRing()
		for range slots {
			r.Count(served, Answer{Status: 500, Seconds: 1})
			r.Count(served, Answer{Status: 200, Seconds: 1})
			c.advance(slotTime)
		}
		c.advance(gap)
		if got := r.Last("", time.Hour); got.Requests != 0 || got.Errors != 0 || got.Latency != (instanceapi.Histogram{}) {
			t.Errorf("%s later, there are %+v", gap, got)
		}
		r.Count(served, Answer{Status: 200, Seconds: 1})
		if got := r.Last("", time.Hour); got.Requests != 1 || got.Errors != 0 || got.Latency.Count() != 1 {
			t.Errorf("%s later, one request counts as %+v", gap, got)
		}
	}
}

// TestAgainstAList: the ring counts the same as a list of all requests.
func TestAgainstAList(t *testing.T) {
	type request struct {
		at     time.Duration
		status int
	}
	random := rand.New(rand.NewPCG(1, 2))
	r, c := newRing()
	var all []request
	var at time.Duration
	for range 20_000 {
		step := time.Duration(random.IntN(2000)) * time.Millisecond
		if random.IntN(1000) == 0 {
			step = time.Duration(random.IntN(7200)) * time.Second
		}
		at += step
		c.advance(step)
		status := 200 + 100*random.IntN(4)
		r.Count(served, Answer{Status: status, Seconds: random.Float64()})
		all = append(all, request{at, status})
		if random.IntN(100) != 0 {
			continue
		}
		within := time.Duration(1+random.IntN(3600)) * time.Second
		got := r.counts(within)
		from := max(0, at-within) / slotTime * slotTime
		want := counts{Seconds: int64((at - from) / time.Second)}
		for _, one := range all {
			if one.at < from {
				continue
			}
			want.Requests++
			if one.status >= 500 {
				want.Errors++
			}
		}
		if got != want {
			t.Fatalf("the last %s at %s: %+v, want %+v", within, at, got, want)
		}
	}
}

// TestOnlyWhatIsServedCounts: requests from before a load, requests that old workers finish, and
// those of new workers that never confirmed are not counted.
func TestOnlyWhatIsServedCounts(t *testing.T) {
	r, c := newRing()
	old, tried := served, []byte("tried")
	c.advance(12 * time.Second)
	for range 100 {
		r.Count(old, Answer{Status: 200, Seconds: .01})
	}
	r.Count(tried, Answer{Status: 500, Seconds: .01})
	c.advance(time.Second)
	r.SetServedRevision("new")
	for range 20 {
		r.Count([]byte("new"), Answer{Status: 503, Seconds: .01})
		r.Count(old, Answer{Status: 200, Seconds: .01})
	}
	r.SetServedRevision("new")
	c.advance(2 * time.Second)
	for revision, want := range map[string]counts{"": {2, 20, 20}, "new": {2, 20, 20}, "served": {}, "tried": {}} {
		w := r.Last(revision, time.Minute)
		if got := (counts{w.Seconds, w.Requests, w.Errors}); got != want {
			t.Errorf("of %q: %+v, want %+v", revision, got, want)
		}
		if requested := revision != ""; requested && w.Revision != revision || !requested && w.Revision != "new" {
			t.Errorf("requested: %q, it answers of %q", revision, w.Revision)
		}
	}
	r.SetServedRevision("served")
	if got := r.counts(time.Hour); got != (counts{}) {
		t.Errorf("once more, it begins with %+v", got)
	}
}

// TestConcurrency: the counts are consistent while requests are counted and time advances.
func TestConcurrency(t *testing.T) {
	r, c := newRing()
	const writers, each = 2, 20_000
	stop := make(chan struct{})
	var reading, writing sync.WaitGroup
	reading.Go(func() {
		for last := int64(0); ; {
			select {
			case <-stop:
				return
			default:
			}
			w := r.Last("", time.Hour)
			if w.Requests < last || w.Latency.Count() != w.Requests-w.Errors {
				t.Errorf("%d requests after %d, of which %d errors and %d not", w.Requests, last, w.Errors, w.Latency.Count())
				return
			}
			last = w.Requests
		}
	})
	for range writers {
		writing.Go(func() {
			for i := range each {
				r.Count(served, Answer{Status: 200 + i%2*300, Seconds: .01})
				if i%100 == 0 {
					c.advance(time.Second)
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	if got := r.Last("", time.Hour); got.Requests != writers*each || got.Errors != writers*each/2 {
		t.Errorf("%d requests and %d errors were counted", got.Requests, got.Errors)
	}
}

func TestCosts(t *testing.T) {
	r, _ := newRing()
	if n := testing.AllocsPerRun(1000, func() { r.Count(served, Answer{Status: 200, Seconds: .01}) }); n != 0 {
		t.Errorf("a request costs %v allocations", n)
	}
	if size := unsafe.Sizeof(*r); size > 160<<10 {
		t.Errorf("the ring takes %d bytes", size)
	}
}

func BenchmarkCount(b *testing.B) {
	r := NewRing(time.Now)
	r.SetServedRevision(string(served))
	b.ReportAllocs()
	for b.Loop() {
		r.Count(served, Answer{Status: 200, Seconds: .0123})
	}
}

func BenchmarkLast(b *testing.B) {
	r, c := newRing()
	for range slots {
		r.Count(served, Answer{Status: 200, Seconds: .01})
		c.advance(slotTime)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Last("", time.Hour)
	}
}

// TestFirst: the first answers of a configuration are counted apart from the last ones before it,
// while old workers still answer. Behind a proxy in the pod, all requests are from the pod.
func TestFirst(t *testing.T) {
	r, c := newRing()
	r.Count(served, Answer{Status: 502, Seconds: .01, Inner: true})
	c.advance(time.Hour / 2)
	for _, status := range []int{200, 301, 404, 499, 503} {
		r.Count(served, Answer{Status: status, Seconds: .01, Inner: true})
	}
	r.StartComparison("next")
	r.Count(served, Answer{Status: 500, Seconds: .01, Inner: true})
	r.Count([]byte("next"), Answer{Status: 200, Seconds: .01, Inner: true})
	r.SetServedRevision("next")
	r.Count([]byte("next"), Answer{Status: 403, Seconds: .01, Inner: true})
	first, before := r.Comparison()
	want := Tally{Answers: 2, Bad: 1}
	want.Latency.Observe(.01, 1)
	if first != want {
		t.Errorf("the first answers are %+v, and not %+v", first, want)
	}
	r.CountOwnRequest(403)
	want.Answers, want.Bad, want.Own = 1, 0, 1
	if first, _ := r.Comparison(); first != want {
		t.Errorf("without its own it is %+v", first)
	}
	if before.Answers != 5 || before.Bad != 2 || before.Time < baselineWindow || before.Time > baselineWindow+slotTime {
		t.Errorf("the answers before are %+v", before)
	}
}

// TestInnerRequests: requests that nginx passes to itself are no evidence, unless hardly any come from elsewhere, as behind a
// proxy in the pod.
func TestInnerRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		outer, inner, want int64
	}{
		"each is passed on":        {100, 100, 100},
		"each is passed on thrice": {100, 300, 100},
		"behind a proxy":           {0, 200, 200},
		"a stray one":              {1, 2000, 2001},
	} {
		r, _ := newRing()
		for range tt.inner + tt.outer {
			r.see(tt.outer == 0 || tt.outer == 1)
		}
		r.StartComparison("next")
		r.SetServedRevision("next")
		for range tt.inner {
			r.Count([]byte("next"), Answer{Status: 200, Seconds: .01, Inner: true})
		}
		for range tt.outer {
			r.Count([]byte("next"), Answer{Status: 200, Seconds: .01})
		}
		first, _ := r.Comparison()
		if first.Answers != tt.want || r.Last("", time.Minute).Requests != tt.want {
			t.Errorf("%s: %d answers count, %d in the last minute, want %d", name, first.Answers, r.Last("", time.Minute).Requests, tt.want)
		}
		if first.Answers+first.Own < tt.inner && tt.outer > 1 {
			t.Errorf("%s: %d answers to the pod itself", name, first.Own)
		}
	}
}

// TestRequestsToItselfWithoutEnd: a page that includes itself makes nginx request itself thousands of times for each client,
// which gets no answer. The answers to nginx itself are no evidence then, nor at the next attempt.
func TestRequestsToItselfWithoutEnd(t *testing.T) {
	r, c := newRing()
	for range minBaselineResponses {
		r.Count(served, Answer{Status: 200, Seconds: .01})
	}
	for _, revision := range []string{"endless", "endless-too"} {
		r.StartComparison(revision)
		r.SetServedRevision(revision)
		for range 5000 {
			r.Count([]byte(revision), Answer{Status: 200, Seconds: .01, Inner: true})
		}
		r.Count([]byte(revision), Answer{Status: statusGaveUp, Seconds: 2})
		c.advance(time.Second)
		if first, before := r.Comparison(); first.Answers != 1 || first.GaveUp != 1 || first.Own != 5000 || before.Answers != minBaselineResponses {
			t.Errorf("%s: the first answers are %+v, those before %+v", revision, first, before)
		}
	}
	c.advance(time.Hour)
	r.StartComparison("proxy")
	r.SetServedRevision("proxy")
	for range recentRequests {
		r.Count([]byte("proxy"), Answer{Status: 200, Seconds: .01, Inner: true})
	}
	if first, _ := r.Comparison(); first.Answers != recentRequests {
		t.Errorf("behind a proxy in the pod, long after the last client: the first answers are %+v", first)
	}
}

// TestRestartedComparison: after a configuration that was rolled back at once, the answers before it are
// compared.
func TestRestartedComparison(t *testing.T) {
	r, c := newRing()
	for range minBaselineResponses {
		r.Count(served, Answer{Status: 200, Seconds: .01})
	}
	r.StartComparison("bad")
	r.SetServedRevision("bad")
	r.Count([]byte("bad"), Answer{Status: 503, Seconds: .01})
	c.advance(time.Second)
	r.StartComparison("next")
	if _, before := r.Comparison(); before.Answers != minBaselineResponses || before.Bad != 0 {
		t.Errorf("what is compared with is %+v", before)
	}
}

// TestGivenUp: clients that give up count apart if they have waited for far longer than those before.
func TestGivenUp(t *testing.T) {
	for name, tt := range map[string]struct{ before, gaveUp, after float64 }{
		"soon":                    {.01, 0, .09},
		"late":                    {.01, 1, .2},
		"as long as they ever do": {10, 0, 20},
		"far longer":              {10, 1, 40},
	} {
		r, _ := newRing()
		for range minBaselineResponses {
			r.Count(served, Answer{Status: statusGaveUp, Seconds: tt.before})
		}
		r.StartComparison("next")
		r.Count([]byte("next"), Answer{Status: statusGaveUp, Seconds: tt.after})
		if first, _ := r.Comparison(); first.Answers != 1 || first.Bad != 0 || float64(first.GaveUp) != tt.gaveUp || first.Latency.Count() != 1-first.GaveUp {
			t.Errorf("%s: %+v", name, first)
		}
	}
}

func TestPatience(t *testing.T) {
	var quick, slow Tally
	quick.Latency.Observe(.01, 100)
	slow.Latency.Observe(.01, 80)
	slow.Latency.Observe(10, 20)
	if got := quick.Patience(time.Second); got != time.Second {
		t.Errorf("%s after quick answers", got)
	}
	if got := slow.Patience(time.Second); got < 20*time.Second {
		t.Errorf("%s if one in five takes ten seconds", got)
	}
	if quick.LongerThan(time.Second) != 0 || slow.LongerThan(time.Second) != 20 {
		t.Errorf("%d and %d are longer than a second", quick.LongerThan(time.Second), slow.LongerThan(time.Second))
	}
}
