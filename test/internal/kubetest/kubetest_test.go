package kubetest

import (
	"errors"
	"testing"
	"time"
)

// TestEventuallyInACleanup: a cleanup function can wait for a condition.
func TestEventuallyInACleanup(t *testing.T) {
	checks := 0
	t.Run("test", func(t *testing.T) {
		t.Cleanup(func() {
			Poll{Interval: time.Millisecond, Timeout: time.Minute}.Eventually(t, "the third check", func() error {
				if checks++; checks < 3 {
					return errors.New("not yet")
				}
				return nil
			})
		})
	})
	if checks != 3 {
		t.Errorf("%d checks, want 3", checks)
	}
}
