package revision

import (
	"math"
	"time"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
)

// Defaults of spec.rollout.retry.
const (
	defaultRetryLimit   = 3
	defaultRetryInitial = 60
	defaultRetryFactor  = 2
	defaultRetryMax     = 3600
)

// Retry is the next attempt of a rollout that failed.
type Retry struct {
	// At is when it begins, to the second.
	At time.Time
	// Number counts from 1. Limit is the highest number.
	Number, Limit int
}

// retry returns the next attempt of a revision whose rollout failed; nil if there is none.
func (in *Input) retry(failed *history.Revision, attempt string) *Retry {
	want := in.rolloutSpec().Retry
	if want == nil {
		return nil
	}
	r := Retry{Number: max(1, failed.Failures.Of(attempt)), Limit: int(ptr.Deref(want.Limit, defaultRetryLimit))}
	if r.Number > r.Limit {
		return nil
	}
	r.At = failed.Failure.At.Add(retryBackoff(r.Number, ptr.Deref(want.Backoff, v1alpha2.RetryBackoff{}))).Truncate(time.Second)
	return &r
}

// retryBackoff returns the time between a failure and a retry.
func retryBackoff(number int, backoff v1alpha2.RetryBackoff) time.Duration {
	initial := float64(ptr.Deref(backoff.InitialSeconds, defaultRetryInitial))
	factor := float64(ptr.Deref(backoff.Factor, defaultRetryFactor))
	most := float64(ptr.Deref(backoff.MaxSeconds, defaultRetryMax))
	return time.Duration(min(most, initial*math.Pow(factor, float64(number-1)))) * time.Second
}

// after returns the time until a retry, at least a second; 0 if there is none.
func (r *Retry) after(now time.Time) time.Duration {
	if r == nil {
		return 0
	}
	return max(time.Second, r.At.Sub(now))
}
