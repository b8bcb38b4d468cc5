package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/test/load"
)

// dip is a history of 40 seconds in which half of the answers of seconds 20 to 22 came from the origin.
func dip() *history {
	h := &history{started: time.Unix(1000, 0)}
	for n := range 40 {
		s := load.Second{Requests: 10, Edge: 6, Shard: 4}
		if n >= 20 && n < 23 {
			s = load.Second{Requests: 10, Edge: 1, Shard: 4, Origin: 5}
		}
		h.seconds = append(h.seconds, s)
	}
	h.events = []event{{time.Unix(1020, 500), "a shard is gone"}, {time.Unix(1100, 0), "after the end"}}
	return h
}

func TestHitRatio(t *testing.T) {
	h := dip()
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"no answers", hitRatio(load.Second{Requests: 3, Failed: 3}), 100},
		{"lowest", h.lowest(20, 40), 85},
		{"lowest, of a window that only touches the time", h.lowest(29, 30), 85},
		{"lowest afterwards", h.lowest(32, 40), 100},
		{"lowest before", h.lowest(0, 11), 100},
		{"share of the origin", h.worst(20), 15},
		{"share of the origin afterwards", h.worst(33), 0},
		{"recovered", float64(h.recovered(20, 95)), 11},
		{"recovered to another ratio", float64(h.recovered(20, 85)), 0},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestHistoryTable(t *testing.T) {
	want := []string{
		"   0 s:   100 requests, 0 failed; hits 100.00 % (edge 60.00 %, shard 40.00 %); origin 0",
		"  10 s:   100 requests, 0 failed; hits 100.00 % (edge 60.00 %, shard 40.00 %); origin 0",
		"  20 s: a shard is gone",
		"  20 s:   100 requests, 0 failed; hits  85.00 % (edge 45.00 %, shard 40.00 %); origin 15",
		"  30 s:   100 requests, 0 failed; hits 100.00 % (edge 60.00 %, shard 40.00 %); origin 0",
	}
	if diff := cmp.Diff(want, dip().table()); diff != "" {
		t.Error(diff)
	}
}
