package handover

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

func TestDecide(t *testing.T) {
	began := func(from, to int32) *State { return &State{From: from, To: to, Since: start} }
	switched := func(from, to int32) *State { return &State{From: from, To: to, Since: start, Switched: true} }
	for name, tt := range map[string]struct {
		in   Input
		want Plan
	}{
		"a new cache": {Input{Declared: 4, Now: start}, Plan{Shards: 4}},
		"at rest":     {Input{Declared: 4, Running: 4, Now: start}, Plan{Shards: 4}},
		"one shard more": {Input{Declared: 5, Running: 4, Now: start},
			Plan{State: began(4, 5), Shards: 5, Previous: 4, EdgesWait: true, Until: at(5)}},
		"one shard more, which has started": {Input{Declared: 5, Running: 5, Current: began(4, 5), Now: at(4)},
			Plan{State: began(4, 5), Shards: 5, Previous: 4, EdgesWait: true, Until: at(5)}},
		"one shard more, which does not start": {Input{Declared: 5, Running: 5, Current: began(4, 5), Now: at(5)},
			Plan{State: began(4, 5), Shards: 5, Previous: 4}},
		"one shard more, and the edges know it": {Input{Declared: 5, Running: 5, Current: switched(4, 5), Now: at(4)},
			Plan{State: switched(4, 5), Shards: 5, Previous: 4, Until: at(5)}},
		"one shard more, at the end": {Input{Declared: 5, Running: 5, Current: switched(4, 5), Now: at(5)}, Plan{Shards: 5}},
		"one shard less": {Input{Declared: 4, Running: 5, Now: start},
			Plan{State: began(5, 4), Shards: 5, Previous: 5, EdgesWait: true, Until: at(5)}},
		"one shard less, but the shards do not get their configuration": {Input{Declared: 4, Running: 5, Current: began(5, 4), Now: at(6)},
			Plan{State: began(5, 4), Shards: 5, Previous: 5, EdgesFirst: true}},
		"one shard less, and the edges know it": {Input{Declared: 4, Running: 5, Current: switched(5, 4), Now: at(1)},
			Plan{State: switched(5, 4), Shards: 5, Previous: 5, Until: at(5)}},
		"one shard less, at the end": {Input{Declared: 4, Running: 5, Current: switched(5, 4), Now: at(6)},
			Plan{State: switched(5, 4), Shards: 4, EdgesFirst: true}},
		"one shard less, which was removed": {Input{Declared: 4, Running: 4, Current: switched(5, 4), Now: at(6)}, Plan{Shards: 4}},
		"back before the edges knew": {Input{Declared: 4, Running: 5, Current: began(4, 5), Now: start},
			Plan{State: began(5, 4), Shards: 5, Previous: 5, EdgesWait: true, Until: at(5)}},
		"back after the edges knew": {Input{Declared: 4, Running: 5, Current: switched(4, 5), Now: start},
			Plan{State: began(5, 4), Shards: 5, Previous: 5, EdgesWait: true, Until: at(5)}},
		"another number before the edges knew": {Input{Declared: 3, Running: 6, Current: began(4, 6), Now: start},
			Plan{State: began(4, 3), Shards: 6, Previous: 4, EdgesWait: true, Until: at(5)}},
		"another number after the edges knew": {Input{Declared: 3, Running: 6, Current: switched(4, 6), Now: start},
			Plan{State: began(6, 3), Shards: 6, Previous: 6, EdgesWait: true, Until: at(5)}},
		"even more": {Input{Declared: 8, Running: 6, Current: switched(4, 6), Now: start},
			Plan{State: began(6, 8), Shards: 8, Previous: 6, EdgesWait: true, Until: at(5)}},
		"turned off":                     {Input{Declared: 4, Running: 5, Now: start}, Plan{Shards: 4, EdgesFirst: true}},
		"turned off meanwhile":           {Input{Declared: 5, Running: 5, Current: switched(4, 5), Now: start}, Plan{Shards: 5}},
		"lost while one shard more":      {Input{Declared: 5, Running: 5, Now: start}, Plan{Shards: 5}},
		"created again without its pods": {Input{Declared: 5, Current: switched(4, 5), Now: start}, Plan{Shards: 5}},
	} {
		if !strings.HasPrefix(name, "turned off") {
			tt.in.Time = 5 * time.Minute
		}
		tt.want.Running = tt.in.Running
		if diff := cmp.Diff(tt.want, Decide(tt.in)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestAlwaysEnds: from any state, a cache whose edges follow ends with the declared number of shards and no hand-over, and
// never has fewer shards than a ring of its edges.
func TestAlwaysEnds(t *testing.T) {
	const most = 6
	for from := int32(1); from <= most; from++ {
		for to := int32(1); to <= most; to++ {
			for then := int32(1); then <= most; then++ {
				for change := range 4 {
					simulate(t, from, to, then, change)
				}
			}
		}
	}
}

// simulate makes passes: the cache has from shards and declares to, and then another number after some passes.
func simulate(t *testing.T, from, to, then int32, change int) {
	t.Helper()
	running, ring, declared, now := from, from, to, start
	var state *State
	for pass := range 12 {
		if pass == change {
			declared = then
		}
		p := Decide(Input{Declared: declared, Running: running, Current: state, Time: 5 * time.Minute, Now: now})
		// The edges get the ring in the second pass that allows it.
		edgesHave := pass%2 == 1
		if edgesHave {
			ring = declared
		}
		if p.Shards > running || edgesHave {
			running = p.Shards
		}
		if running < ring {
			t.Fatalf("%d → %d → %d: %d shards run, and the edges look for %d", from, to, then, running, ring)
		}
		if edgesHave {
			p.Switch(5*time.Minute, now)
		}
		state = p.State
		now = now.Add(2 * time.Minute)
	}
	if state != nil || running != then {
		t.Errorf("%d → %d → %d (after %d passes): %d shards, %+v", from, to, then, change, running, state)
	}
}

// TestMessage: until when objects are handed over is known as soon as the edges have the new ring.
func TestMessage(t *testing.T) {
	p := Decide(Input{Declared: 5, Running: 4, Time: 5 * time.Minute, Now: start})
	want := "objects are handed over from 4 to 5 shards as soon as the edges know the new ones"
	if got := p.Message(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !p.Switch(5*time.Minute, at(2)) || p.Switch(5*time.Minute, at(3)) {
		t.Error("the edges do not get the ring once")
	}
	want = "objects are handed over from 4 to 5 shards until 2026-05-01T12:07:00Z"
	if got := p.Message(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := new(Decide(Input{Declared: 5, Running: 5, Now: start})).Message(); got != "" {
		t.Errorf("at rest: %q", got)
	}
}

func TestText(t *testing.T) {
	for _, want := range []*State{nil, {From: 4, To: 5, Since: start}, {From: 4, To: 3, Since: start, Switched: true}} {
		text, err := want.Text()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, Parse(text)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
	}
	for _, text := range []string{"", "{}", "x", `{"from":0,"to":4}`, `{"from":4,"to":-1}`, `{"from":4,"to":2000000000}`} {
		if got := Parse(text); got != nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
