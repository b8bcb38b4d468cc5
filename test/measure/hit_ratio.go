package main

import (
	"fmt"
	"math"
	"time"

	"example.com/nginx-operator/test/load"
)

// ratioWindow is the time over which hit ratios are computed, in seconds.
const ratioWindow = 10

// event is something that happened during a load.
type event struct {
	at   time.Time
	what string
}

// history is what a cache answered over time, and what happened meanwhile.
type history struct {
	started time.Time
	seconds []load.Second
	events  []event
}

// hitRatio returns the share of the answers that came from a cache, in percent; 100 if there were none.
func hitRatio(s load.Second) float64 {
	answers := s.Edge + s.Shard + s.Origin
	if answers == 0 {
		return 100
	}
	return 100 * float64(s.Edge+s.Shard) / float64(answers)
}

// second returns the second of the load in which a time is, within its bounds.
func (h *history) second(at time.Time) int {
	return min(max(int(at.Sub(h.started)/time.Second), 0), len(h.seconds))
}

// sum adds up the seconds from one to another, without the latter.
func (h *history) sum(from, to int) load.Second {
	var sum load.Second
	for _, s := range h.seconds[from:to] {
		sum = sum.Add(s)
	}
	return sum
}

// windows calls f for each time of ratioWindow seconds that touches those between from and to.
func (h *history) windows(from, to int, f func(start int, sum load.Second)) {
	for start := max(from-ratioWindow+1, 0); start < to && start+ratioWindow <= len(h.seconds); start++ {
		f(start, h.sum(start, start+ratioWindow))
	}
}

// lowest returns the lowest hit ratio in any ratioWindow seconds between two seconds.
func (h *history) lowest(from, to int) float64 {
	lowest := 100.0
	h.windows(from, to, func(_ int, sum load.Second) { lowest = math.Min(lowest, hitRatio(sum)) })
	return lowest
}

// worst returns the highest share of requests that went to the origin in any ratioWindow seconds since one, in percent.
func (h *history) worst(from int) float64 {
	worst := 0.0
	h.windows(from, len(h.seconds), func(_ int, sum load.Second) {
		if sum.Requests > 0 {
			worst = math.Max(worst, 100*float64(sum.Origin)/float64(sum.Requests))
		}
	})
	return worst
}

// recovered returns the time since a second until the hit ratio is at least want for good, in seconds: the end of the
// last ratioWindow with less.
func (h *history) recovered(from int, want float64) int {
	end := from
	h.windows(from, len(h.seconds), func(start int, sum load.Second) {
		if hitRatio(sum) < want {
			end = start + ratioWindow
		}
	})
	return end - from
}

// table has a row for every ratioWindow seconds, and one for each event.
func (h *history) table() []string {
	var rows []string
	next := 0
	for start := 0; start < len(h.seconds); start += ratioWindow {
		end := min(start+ratioWindow, len(h.seconds))
		for ; next < len(h.events) && h.second(h.events[next].at) < end; next++ {
			rows = append(rows, fmt.Sprintf("%4d s: %s", h.second(h.events[next].at), h.events[next].what))
		}
		sum := h.sum(start, end)
		answers := math.Max(float64(sum.Edge+sum.Shard+sum.Origin), 1)
		rows = append(rows, fmt.Sprintf("%4d s: %5d requests, %d failed; hits %6.2f %% (edge %5.2f %%, shard %5.2f %%); origin %d", start,
			sum.Requests, sum.Failed, hitRatio(sum), 100*float64(sum.Edge)/answers, 100*float64(sum.Shard)/answers, sum.Origin))
	}
	return rows
}
