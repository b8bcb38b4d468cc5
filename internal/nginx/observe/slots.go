package observe

import (
	"context"
	"slices"
	"sync"
)

// slots bound the queries in flight. A namespace gets another one only while it has fewer than are free, so that one whose pods
// are slow leaves room for others, and several leave room for another one (see package workers).
type slots struct {
	mu   sync.Mutex
	free int
	// used and waiting are the queries of each namespace that have a slot, and that wait for one, the oldest first.
	used    map[string]int
	waiting map[string][]chan struct{}
}

func newSlots(most int) *slots {
	return &slots{free: most, used: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// acquire waits for a slot. It reports whether there is one before the context ends; release it then.
func (s *slots) acquire(ctx context.Context, namespace string) bool {
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

// release ends the use of a slot.
func (s *slots) release(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.used[namespace]--; s.used[namespace] == 0 {
		delete(s.used, namespace)
	}
	s.assign()
}

// assign gives the free slots to queries that wait, first to those of the namespaces with the fewest.
func (s *slots) assign() {
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

func (s *slots) setWaiting(namespace string, waiting []chan struct{}) {
	if s.waiting[namespace] = waiting; len(waiting) == 0 {
		delete(s.waiting, namespace)
	}
}
