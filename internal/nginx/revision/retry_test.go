package revision

import (
	"testing"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestRetryBackoff: the delay doubles with each retry, up to an hour.
func TestRetryBackoff(t *testing.T) {
	for number, want := range map[int]time.Duration{1: time.Minute, 2: 2 * time.Minute, 3: 4 * time.Minute, 7: time.Hour, 100: time.Hour} {
		if got := retryBackoff(number, v1alpha2.RetryBackoff{}); got != want {
			t.Errorf("retry %d comes after %s, want %s", number, got, want)
		}
	}
}
