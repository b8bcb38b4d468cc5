package desired

import (
	"math"
	"time"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
)

// Defaults of spec.rollout.retry.
const (
	defaultRetryLimit   = 3
	defaultRetryInitial = 60
	defaultRetryFactor  = 2
	defaultRetryMax     = 3600
)

// Retry is a rollout that failed and is tried again.
type Retry struct {
	// At is when, to the second.
	At time.Time
	// Number is that of the retry, from 1 on, and Limit how many there are.
	Number, Limit int
}

// retry is when a revision whose rollout has failed is tried again; nil: it is not.
func (in *input) retry(failed *history.Revision, attempt string) *Retry {
	want := in.rolloutSpec().Retry
	if want == nil {
		return nil
	}
	r := Retry{Number: max(1, failed.Failures.Of(attempt)), Limit: int(ptr.Deref(want.Limit, defaultRetryLimit))}
	if r.Number > r.Limit {
		return nil
	}
	r.At = failed.Failure.At.Add(pauseBefore(r.Number, ptr.Deref(want.Backoff, v1alpha2.RetryBackoff{}))).Truncate(time.Second)
	return &r
}

// pauseBefore is the pause before a retry.
func pauseBefore(number int, backoff v1alpha2.RetryBackoff) time.Duration {
	initial := float64(ptr.Deref(backoff.InitialSeconds, defaultRetryInitial))
	factor := float64(ptr.Deref(backoff.Factor, defaultRetryFactor))
	most := float64(ptr.Deref(backoff.MaxSeconds, defaultRetryMax))
	return time.Duration(min(most, initial*math.Pow(factor, float64(number-1)))) * time.Second
}

// retryAfter is how long until a retry; 0: there is none.
func (in *input) retryAfter() time.Duration {
	if in.course.retry == nil {
		return 0
	}
	return max(time.Second, in.course.retry.At.Sub(in.state.Now))
}
