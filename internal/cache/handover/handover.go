// Package handover decides how objects move when a cache gets another number of shards. It is pure; the time is an input.
//
// Most objects keep their owner then, and the others get a new one. While they are handed over, a shard that does not have
// an object asks its owner in the ring before (package cacheconf). A hand-over has three steps:
//
//  1. It begins. The shards get the previous ring, and those that are added start. The edges wait for that, but not for
//     longer than a hand-over takes.
//  2. The edges get the new ring. From then on the time of the hand-over counts.
//  3. It ends. The shards ask only origins again, and those that are left over are removed.
//
// What has to be known between passes is in an annotation of the StatefulSet of the shards. If it is lost, the hand-over
// ends.
package handover

import (
	"encoding/json"
	"fmt"
	"time"

	"example.com/nginx-operator/api/cache/v1alpha1"
)

// Annotation of the StatefulSet of the shards has the State, as JSON.
const Annotation = "cache.operator.example.com/hand-over"

// State is a hand-over that has begun.
type State struct {
	// From and To are the numbers of shards in the previous ring and in the new one.
	From int32 `json:"from"`
	To   int32 `json:"to"`
	// Since is when the step began.
	Since time.Time `json:"since"`
	// Switched reports whether the edges have the new ring.
	Switched bool `json:"switched,omitempty"`
}

// Parse parses an annotation; nil if there is none, or none of ours.
func Parse(text string) *State {
	s := &State{}
	if err := json.Unmarshal([]byte(text), s); err != nil || !isShards(s.From) || !isShards(s.To) {
		return nil
	}
	return s
}

func isShards(n int32) bool { return n >= 1 && n <= v1alpha1.MaxShards }

// Text returns the annotation of a hand-over; empty if there is none.
func (s *State) Text() (string, error) {
	if s == nil {
		return "", nil
	}
	text, err := json.Marshal(s)
	return string(text), err
}

// Input is what a plan is made from.
type Input struct {
	// Declared is the number of shards that the cache declares, and Running that of its StatefulSet; 0 if there is none.
	Declared, Running int32
	// Current is the hand-over that has begun; nil if none has.
	Current *State
	// Time is how long objects are handed over; 0 if they are not.
	Time time.Duration
	Now  time.Time
}

// Plan is what has to be so now.
type Plan struct {
	// State is the hand-over to remember; nil if there is none.
	State *State
	// Running is the number of shards that run, and Shards that of those that are to run. If that is less, the edges need
	// the new ring first.
	Running, Shards int32
	// Previous is the number of shards of the previous ring; 0 if no objects are handed over.
	Previous int32
	// EdgesWait reports whether the edges have to wait until the shards are ready for the new ring.
	EdgesWait bool
	// EdgesFirst reports whether the edges do not wait for a rollout of the shards, because shards are to be removed.
	EdgesFirst bool
	// Until is when the step ends; zero if it does not end by time.
	Until time.Time
}

// Decide returns the plan for an input.
func Decide(in Input) Plan {
	p := Plan{Running: in.Running, Shards: in.Declared, State: in.next(), EdgesFirst: in.Running > in.Declared}
	if p.State == nil {
		return p
	}
	until := p.State.Since.Add(in.Time)
	over := !in.Now.Before(until)
	if over && p.State.Switched {
		if in.Running <= in.Declared {
			p.State = nil
		}
		return p
	}
	p.Previous, p.Shards = p.State.From, max(in.Running, in.Declared)
	if !over {
		p.EdgesWait, p.EdgesFirst, p.Until = !p.State.Switched, false, until
	}
	return p
}

// next returns the hand-over that there should be.
func (in *Input) next() *State {
	s := in.Current
	switch {
	case in.Time == 0 || in.Running == 0:
		return nil
	case s != nil && s.To == in.Declared:
		return s
	case s == nil && in.Running == in.Declared:
		return nil
	case s == nil:
		return in.begin(in.Running)
	case !s.Switched && s.From != in.Declared:
		// The edges have the ring of before, or have just begun to get another one.
		return in.begin(s.From)
	}
	return in.begin(s.To)
}

func (in *Input) begin(from int32) *State {
	return &State{From: from, To: in.Declared, Since: in.Now.UTC().Truncate(time.Second)}
}

// Switch says that the edges have the new ring: the time of the hand-over counts from now on. It reports whether they did
// not have it before.
func (p *Plan) Switch(takes time.Duration, now time.Time) bool {
	if p.State == nil || p.State.Switched {
		return false
	}
	next := *p.State
	next.Switched, next.Since = true, now.UTC().Truncate(time.Second)
	p.State, p.Until = &next, next.Since.Add(takes)
	return true
}

// Message says what is handed over; empty if nothing is.
func (p *Plan) Message() string {
	switch {
	case p.Previous == 0:
		return ""
	case !p.State.Switched:
		return fmt.Sprintf("objects are handed over from %d to %d shards as soon as the edges know the new ones", p.State.From, p.State.To)
	}
	return fmt.Sprintf("objects are handed over from %d to %d shards until %s", p.State.From, p.State.To, p.Until.Format(time.RFC3339))
}
