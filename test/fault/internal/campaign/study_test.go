package campaign

import (
	"testing"
	"time"
)

// TestShare: who plays cases of one kind alone has all of the time for them.
func TestShare(t *testing.T) {
	until := time.Now().Add(time.Hour)
	if got := (&Campaign{Until: until}).share(false); !got.Equal(until) {
		t.Errorf("of an hour, cases that nothing comes after have %s", time.Until(got))
	}
	if got := time.Until((&Campaign{Until: until}).share(true)); got < 14*time.Minute || got > 16*time.Minute {
		t.Errorf("of an hour, cases that others come after have %s", got)
	}
	if got := (&Campaign{}).share(true); !got.IsZero() {
		t.Errorf("without an end, the time of a kind ends at %s", got)
	}
}
