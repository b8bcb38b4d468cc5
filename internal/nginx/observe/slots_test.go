package observe

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlots: a namespace has at most half of the slots, and others get theirs at once. Nothing is left at the end.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 8
		s := newSlots(most)
		acquired := map[string]int{}
		try := func(namespace string, n int) {
			for range n {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if s.acquire(ctx, namespace) {
					acquired[namespace]++
				}
				cancel()
			}
		}
		try("slow", most)
		try("shop", 1)
		try("bank", most)
		if acquired["slow"] != most/2 || acquired["shop"] != 1 || acquired["bank"] != most/2-1 {
			t.Errorf("the namespaces have %v slots", acquired)
		}
		for namespace, n := range acquired {
			for range n {
				s.release(namespace)
			}
		}
		if len(s.namespaces) != 0 || len(s.all) != 0 {
			t.Errorf("%d namespaces and %d slots are left", len(s.namespaces), len(s.all))
		}
	})
}
