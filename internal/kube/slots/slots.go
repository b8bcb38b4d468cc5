// Package slots shares a fixed number of slots between namespaces, such as slots for queries in flight.
package slots

import (
	"context"
	"slices"
	"sync"
)

// Slots bound what is done at the same time. A namespace gets another slot only while it has fewer than are free. So a slow
// namespace leaves room for others, and several leave room for another one (see package workers).
type Slots struct {
	mu   sync.Mutex
	free int
	// used counts the slots of each namespace. waiting holds the callers that wait for one, the oldest first.
	used    map[string]int
	waiting map[string][]chan struct{}
}

// New returns a number of slots.
func New(most int) *Slots {
	return &Slots{free: most, used: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Acquire waits for a slot until the context ends. It reports whether the caller has one, and must release it.
func (s *Slots) Acquire(ctx context.Context, namespace string) bool {
	given := make(chan struct{})
	s.mu.Lock()
	s.waiting[namespace] = append(s.waiting[namespace], given)
	s.assign()
	s.mu.Unlock()
	select {
	case <-given:
		return true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting[namespace], given); i >= 0 {
		s.setWaiting(namespace, slices.Delete(s.waiting[namespace], i, i+1))
		return false
	}
	return true
}

// Release ends the use of a slot.
func (s *Slots) Release(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.used[namespace]--; s.used[namespace] == 0 {
		delete(s.used, namespace)
	}
	s.assign()
}

// InUse returns the number of slots in use.
func (s *Slots) InUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := 0
	for _, n := range s.used {
		used += n
	}
	return used
}

// assign gives the free slots to waiting callers, first to those of the namespaces with the fewest slots.
func (s *Slots) assign() {
	for s.free > 0 {
		best, found := "", false
		for namespace := range s.waiting {
			if s.used[namespace] < s.free && (!found || s.used[namespace] < s.used[best]) {
				best, found = namespace, true
			}
		}
		if !found {
			return
		}
		s.free--
		s.used[best]++
		close(s.waiting[best][0])
		s.setWaiting(best, s.waiting[best][1:])
	}
}

func (s *Slots) setWaiting(namespace string, waiting []chan struct{}) {
	if s.waiting[namespace] = waiting; len(waiting) == 0 {
		delete(s.waiting, namespace)
	}
}
