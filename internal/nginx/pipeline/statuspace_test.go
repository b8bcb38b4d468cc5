package pipeline

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestStatusPace: pods that change their answers all the time cause few writes of the status, and a rollout does not wait.
func TestStatusPace(t *testing.T) {
	var p statusPace
	key, now := types.NamespacedName{Namespace: "shop", Name: "web"}, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	// change makes a pass each 40 ms for a time, with a changed status in each, and returns the number of writes.
	change := func(declared string, during time.Duration) (writes int) {
		for end := now.Add(during); now.Before(end); now = now.Add(backoffFirst) {
			if p.next(key, declared, now) == 0 {
				writes++
			}
		}
		return writes
	}
	if n := change("1", 19*backoffFirst); n != 19 {
		t.Errorf("%d of 19 statuses of a rollout are written at once", n)
	}
	if n := change("1", 10*time.Second); n > 10 {
		t.Errorf("%d writes in the next 10 s", n)
	}
	if n := change("2", 10*backoffFirst); n != 10 {
		t.Errorf("%d of 10 statuses of another spec are written at once", n)
	}
	change("2", time.Minute)
	if n := change("2", time.Minute); n > 60 {
		t.Errorf("%d writes in a minute of changes that continue", n)
	}
	wait := p.next(key, "2", now)
	if wait <= 0 || wait > statusPause {
		t.Fatalf("the last state waits %s", wait)
	}
	if left := p.next(key, "2", now.Add(wait)); left != 0 {
		t.Errorf("it waits %s more", left)
	}
	now = now.Add(2*freeStatusEvery + wait)
	if n := change("2", 10*backoffFirst); n != 2 {
		t.Errorf("%d writes are free after a quiet time, want 2", n)
	}
	p.forget(key)
	if n := change("2", 10*backoffFirst); n != 10 {
		t.Errorf("%d of 10 statuses of an application that was recreated are written at once", n)
	}
}
