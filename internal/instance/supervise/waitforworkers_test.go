package supervise

import (
	"testing"
	"time"

	"example.com/nginx-operator/internal/instance/assemble"
)

// TestStarted: replaced workers are not told to quit before all of the new ones accept connections.
func TestStarted(t *testing.T) {
	replaced := []int{11, 12}
	for name, tt := range map[string]struct {
		workers int
		running []int
		want    bool
	}{
		"none yet":                       {2, []int{11, 12}, false},
		"one of two":                     {2, []int{11, 12, 21}, false},
		"all":                            {2, []int{11, 12, 21, 22}, true},
		"fewer than before":              {1, []int{11, 12, 21}, true},
		"more than before":               {3, []int{11, 12, 21, 22}, false},
		"replaced ones have ended":       {2, []int{21, 22}, true},
		"their number is not known":      {0, []int{11, 12}, false},
		"and one is enough in this case": {0, []int{11, 12, 21}, true},
	} {
		v := &verification{replaced: replaced, candidate: candidate{facts: facts{demand: assemble.Demand{Workers: tt.workers}}}}
		if got := v.started(tt.running); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestHasRespawned: a worker that is one too many is waited for, but not forever: the expected number may be wrong.
func TestHasRespawned(t *testing.T) {
	begun := time.Unix(0, 0)
	for name, tt := range map[string]struct {
		workers int
		running []int
		after   time.Duration
		want    bool
	}{
		"as many as expected":       {2, []int{21, 22}, 0, false},
		"fewer":                     {2, []int{21}, 0, false},
		"one more":                  {2, []int{13, 21, 22}, 0, true},
		"one more for long":         {2, []int{13, 21, 22}, respawnTimeout, false},
		"their number is not known": {0, []int{13, 21, 22}, 0, false},
	} {
		v := &verification{begun: begun, candidate: candidate{facts: facts{demand: assemble.Demand{Workers: tt.workers}}}}
		if got := v.hasRespawned(tt.running, begun.Add(tt.after)); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
