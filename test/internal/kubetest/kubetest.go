// Package kubetest is what tests against an API server share: failing on errors, waiting for conditions, and checking
// the conditions of an NginxOperator.
package kubetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/nginx-operator/api/v1alpha2"
)

// Must fails the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Poll says how to wait for a condition. Its Timeout does not measure speed: the machine may be busy.
type Poll struct {
	// Interval is the time between two checks, and Timeout the longest wait.
	Interval, Timeout time.Duration
	// Abort returns an error that ends the wait early; nil: there is none.
	Abort func() error
}

// Until waits until check returns nil. The error is the last one of check.
func (p Poll) Until(ctx context.Context, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, p.Interval, p.Timeout, true, func(ctx context.Context) (bool, error) {
		if last = check(ctx); last == nil || p.Abort == nil {
			return last == nil, nil
		}
		return false, p.Abort()
	})
	switch {
	case err == nil:
		return nil
	case wait.Interrupted(err) && last != nil:
		return last
	}
	return errors.Join(err, last)
}

// Eventually fails the test if check does not return nil in time. what names the condition. It also works in a cleanup
// function, when the context of the test is canceled already.
func (p Poll) Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	if err := p.Until(context.WithoutCancel(t.Context()), func(context.Context) error { return check() }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Condition returns a condition of an application if it has a status and a reason for the current spec.
func Condition(nginx *v1alpha2.NginxOperator, name string, status metav1.ConditionStatus, reason string) (metav1.Condition, error) {
	c := meta.FindStatusCondition(nginx.Status.Conditions, name)
	if c == nil {
		return metav1.Condition{}, fmt.Errorf("the condition %s is missing", name)
	}
	if c.Status != status || c.Reason != reason || c.ObservedGeneration != nginx.Generation {
		return *c, fmt.Errorf("it is %s (%s) of generation %d of %d: %s", c.Status, c.Reason, c.ObservedGeneration, nginx.Generation, c.Message)
	}
	return *c, nil
}

// Observed returns an error unless the status describes the current spec.
func Observed(nginx *v1alpha2.NginxOperator) error {
	if nginx.Status.ObservedGeneration != nginx.Generation {
		return fmt.Errorf("generation %d of %d is observed", nginx.Status.ObservedGeneration, nginx.Generation)
	}
	return nil
}
