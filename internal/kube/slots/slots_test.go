package slots

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlots: a namespace has at most half of the slots, two at most three quarters, and another one gets its own at once. What
// waits gets a slot that is released, and nothing is left at the end.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 8
		s := New(most)
		acquired := map[string]int{}
		try := func(namespace string, n int) {
			for range n {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if s.Acquire(ctx, namespace) {
					acquired[namespace]++
				}
				cancel()
			}
		}
		try("slow", most)
		try("stuck", most)
		try("shop", most)
		if acquired["slow"] != most/2 || acquired["stuck"] != most/4 || acquired["shop"] != 1 {
			t.Errorf("the namespaces have %v slots", acquired)
		}
		waiting := make(chan bool, 1)
		go func() { waiting <- s.Acquire(t.Context(), "slow") }()
		synctest.Wait()
		s.Release("shop")
		s.Release("slow")
		s.Release("slow")
		if !<-waiting {
			t.Error("what waits gets no slot")
		}
		acquired["shop"]--
		acquired["slow"]--
		for namespace, n := range acquired {
			for range n {
				s.Release(namespace)
			}
		}
		if len(s.used) != 0 || len(s.waiting) != 0 || s.free != most {
			t.Errorf("%v have slots, %v wait, %d are free", s.used, s.waiting, s.free)
		}
	})
}
