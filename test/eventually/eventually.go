// Package eventually waits for conditions in the tests of packages. The tests below test/ use kubetest, which reports the last
// error.
package eventually

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// interval is the time between two checks of a condition.
const interval = 10 * time.Millisecond

// Holds fails the test unless a condition holds within a timeout, which does not measure speed. what names the condition.
func Holds(t testing.TB, timeout time.Duration, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), interval, timeout, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
