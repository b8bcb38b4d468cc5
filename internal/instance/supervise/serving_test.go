package supervise

import (
	"testing"
	"time"
)

// TestServingSince: the time of a revision continues across reloads, and begins again with another
// revision or after a failure.
func TestServingSince(t *testing.T) {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	var s serving
	for i, step := range []struct {
		what     string
		revision string
		// lost reports whether the workers did not confirm the previous configuration.
		lost bool
		want time.Time
	}{
		{"booted", "one", false, at(0)},
		{"reloaded for a certificate", "one", false, at(0)},
		{"reloaded again", "one", false, at(0)},
		{"another configuration", "two", false, at(3)},
		{"reloaded", "two", false, at(3)},
		{"back", "one", false, at(5)},
		{"confirmed again after a failure", "one", true, at(6)},
		{"reloaded once more", "one", false, at(6)},
	} {
		if step.lost {
			s.verified = false
		}
		c := candidate{revision: step.revision, generation: int64(i + 1), dir: step.what}
		s = s.followedBy(c, at(i))
		if want := (serving{step.revision, int64(i + 1), step.what, true, step.want}); s != want {
			t.Errorf("%s: %+v, want %+v", step.what, s, want)
		}
	}
}
