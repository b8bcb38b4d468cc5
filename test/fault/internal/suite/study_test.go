package suite

import (
	"testing"
	"time"
)

// TestShare: cases that no others follow get all of the time.
func TestShare(t *testing.T) {
	until := time.Now().Add(time.Hour)
	if got := (&Suite{Until: until}).share(false); !got.Equal(until) {
		t.Errorf("of an hour, cases that nothing comes after have %s", time.Until(got))
	}
	if got := time.Until((&Suite{Until: until}).share(true)); got < 14*time.Minute || got > 16*time.Minute {
		t.Errorf("of an hour, cases that others come after have %s", got)
	}
	if got := (&Suite{}).share(true); !got.IsZero() {
		t.Errorf("without an end, the time of a kind ends at %s", got)
	}
}
