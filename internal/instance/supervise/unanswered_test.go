package supervise

import (
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/window"
)

// traffic is what happens after a load: requests that begin at a steady rate.
type traffic struct {
	// rate is in requests per second, and before is how long they took before the load, in seconds.
	rate   int64
	before float64
	// since is the time since the load, and takes what the requests take now, in seconds.
	since, takes float64
	// gaveUp reports whether their clients do not wait for the answer.
	gaveUp bool
	// pause is how long none was answered at first, in seconds. These were answered at its end.
	pause float64
	// unlogged reports whether they are in no log, and moved how many more have come from the old workers without an answer.
	unlogged bool
	moved    int64
	// polling reports whether as many requests were in progress before.
	polling bool
}

// never is longer than any test, in seconds.
const never = 1000

// comparison plays the traffic.
func (t traffic) comparison() *comparison {
	const seconds, fresh = 30, 0.05
	c := &comparison{before: window.Tally{Answers: t.rate * seconds, Time: seconds * time.Second}, since: time.Duration(t.since * float64(time.Second))}
	c.before.Latency.Observe(t.before, t.rate*seconds)
	var a analysis
	var peak int64
	for at := 0.0; at <= t.since+fresh/2; at += fresh {
		c.first = window.Tally{}
		begun := int64(at*float64(t.rate)) + t.moved
		for i := range int64(at * float64(t.rate)) {
			start := float64(i+1) / float64(t.rate)
			end := max(start+t.takes, t.pause)
			switch {
			case end > at || t.unlogged:
				continue
			case t.gaveUp:
				c.first.GaveUp++
			default:
				c.first.Latency.Observe(end-start, 1)
			}
			c.first.Answers++
		}
		c.begun = begun
		c.grown = begun - t.moved - c.first.Answers
		if t.unlogged {
			c.grown = 0
		}
		if t.polling {
			c.grown = 0
		}
		peak = max(peak, c.grown)
		a.arrivals = append(a.arrivals, arrival{since: time.Duration(at * float64(time.Second)), begun: begun, good: c.good()})
	}
	c.arrivals, c.peak = a.arrivals, peak
	return c
}

func TestHangs(t *testing.T) {
	for name, tt := range map[string]struct {
		traffic
		suspect bool
		want    string
	}{
		"as before":                         {traffic{rate: 20, before: .01, takes: .01, since: 5}, false, ""},
		"none is answered, at first":        {traffic{rate: 20, before: .01, takes: never, since: 1.5}, true, ""},
		"none is answered":                  {traffic{rate: 20, before: .01, takes: never, since: 4.4}, true, "7 of the first 7 requests were not answered in time (7 have waited for an answer for more than 4s); before the change, 90% took at most "},
		"none is answered of few":           {traffic{rate: 1, before: .01, takes: never, since: 9.2}, true, "5 of the first 5 requests"},
		"none is answered of few, at first": {traffic{rate: 1, before: .01, takes: never, since: 5}, true, ""},
		"clients give up":                   {traffic{rate: 20, before: .01, takes: 2, gaveUp: true, since: 4.4}, true, "47 of the first 47 requests were not answered in time (for 47 the client gave up)"},
		"clients give up soon":              {traffic{rate: 20, before: .01, takes: .3, gaveUp: true, since: 4.4}, true, "81 of the first 81 requests"},
		"slow":                              {traffic{rate: 20, before: .01, takes: 1.5, since: 4.4}, true, "57 of the first 57 requests were not answered in time (57 took longer than 1s)"},
		"a bit slower":                      {traffic{rate: 20, before: .01, takes: .5, since: 5}, false, ""},
		"as slow as before":                 {traffic{rate: 20, before: 2, takes: 2, since: 10}, false, ""},
		"slower than slow, at first":        {traffic{rate: 20, before: 2, takes: never, since: 6}, false, ""},
		"slower than slow":                  {traffic{rate: 20, before: 2, takes: never, since: 9}, true, "35 of the first 35"},
		"slow for a moment":                 {traffic{rate: 20, before: .01, takes: .01, pause: 3, since: 4.5}, false, ""},
		"slow for a moment, then":           {traffic{rate: 20, before: .01, takes: .01, pause: 3, since: 2.9}, true, ""},
		"long polling":                      {traffic{rate: 20, before: 25, takes: never, since: 15}, false, ""},
		"back from the old workers":         {traffic{rate: 20, before: .01, takes: .01, moved: 1000, since: 5}, false, ""},
		"requests that are not logged":      {traffic{rate: 20, before: .01, unlogged: true, since: 5}, false, ""},
		"only those who poll are left":      {traffic{rate: 20, before: .01, takes: 3, polling: true, since: 10}, true, ""},
		"the burst is over":                 {traffic{rate: 0, before: .01, since: 5}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.comparison()
			if name == "the burst is over" {
				c.before = traffic{rate: 100, before: .01}.comparison().before
			}
			if got := c.suspect(); got != tt.suspect {
				t.Errorf("suspect: %t", got)
			}
			if got := c.hangs(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestNothingResponds: workers that report nothing at all, such as those that are out of memory, keep other pods waiting.
func TestNothingResponds(t *testing.T) {
	c := traffic{rate: 20, before: .01, takes: never, since: 2}.comparison()
	c.arrivals, c.begun, c.grown, c.unresponsive = nil, 0, 0, 2*time.Second
	if !c.suspect() || !c.open() || c.hangs() != "" {
		t.Errorf("suspect %t, open %t, hangs %q", c.suspect(), c.open(), c.hangs())
	}
	c.since, c.unresponsive = 5*time.Second, 5*time.Second
	if c.hangs() == "" {
		t.Error("no verdict")
	}
}

// TestPiling: requests that pile up keep the other pods waiting, whatever nginx answers to itself.
func TestPiling(t *testing.T) {
	for name, tt := range map[string]struct {
		inProgress, grown int64
		want              bool
	}{
		"ten more":             {0, 10, true},
		"two more":             {0, 2, false},
		"ten more than twenty": {20, 10, false},
		"twice as many":        {20, 24, true},
	} {
		c := &comparison{since: time.Second, inProgress: tt.inProgress, grown: tt.grown, first: window.Tally{Answers: 1000}}
		if got := c.open(); got != tt.want {
			t.Errorf("%s: open %t", name, got)
		}
	}
}

// TestSilentLong: a connection without a request counts after a while, and the instance's own queries in that time do not.
func TestSilentLong(t *testing.T) {
	a := analysis{connections: &nginx.Connections{}}
	var c comparison
	for tick := range int64(100) {
		c = comparison{since: time.Duration(tick+1) * 10 * time.Millisecond}
		a.record(&nginx.Connections{Accepted: 10 + tick + 1, Requests: tick + 1, Own: tick + 1}, &c)
		if silent := c.silentLong > 0; silent && c.since < silentAfter {
			t.Errorf("%d are silent after %s", c.silentLong, c.since)
		}
	}
	if c.silentLong != 10 {
		t.Errorf("%d are silent, want 10", c.silentLong)
	}
}
