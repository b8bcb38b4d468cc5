package supervise

import (
	"testing"
	"time"
)

// TestTooManyGenerations: a reload that no order requests waits for the oldest of four generations, for a minute or for the
// drain time-out, whichever is less.
func TestTooManyGenerations(t *testing.T) {
	start := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	const soon = generationsPollInterval
	for name, tt := range map[string]struct {
		generations    int
		after, timeout time.Duration
		// want is when to decide again; 0: now.
		want time.Duration
	}{
		"none":                      {0, 0, 10 * time.Minute, 0},
		"three":                     {3, 0, 10 * time.Minute, 0},
		"four":                      {4, 0, 10 * time.Minute, soon},
		"four, for a while":         {4, 59 * time.Second, 10 * time.Minute, 59*time.Second + soon},
		"four, almost for a minute": {4, time.Minute - soon/2, 10 * time.Minute, time.Minute},
		"four, for a minute":        {4, time.Minute, 10 * time.Minute, 0},
		"a short time-out":          {4, 5 * time.Second, 5 * time.Second, 0},
		"no time-out":               {4, 0, 0, 0},
	} {
		var g generations
		for i := range tt.generations {
			// The later ones do not count.
			g.add([]int{100 + i}, start.Add(time.Duration(i)*time.Hour))
		}
		want := time.Time{}
		if tt.want > 0 {
			want = start.Add(tt.want)
		}
		if got := g.tooMany(start.Add(tt.after), tt.timeout); !got.Equal(want) {
			t.Errorf("%s: decides again at %v, want %v", name, got, want)
		}
	}
}
