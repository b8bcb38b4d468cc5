package observe

import (
	"context"
	"sync"
)

// slots bound the queries in flight: in all, and those of one namespace to half of them, so that one whose pods are slow leaves
// room for others.
type slots struct {
	all chan struct{}

	mu         sync.Mutex
	namespaces map[string]*share
}

// share holds a value for each query of a namespace in flight. users are those that hold or wait for one.
type share struct {
	slots chan struct{}
	users int
}

func newSlots(most int) *slots {
	return &slots{all: make(chan struct{}, most), namespaces: map[string]*share{}}
}

// acquire waits for a slot. It reports whether there is one before the context ends; release it then.
func (s *slots) acquire(ctx context.Context, namespace string) bool {
	s.mu.Lock()
	own := s.namespaces[namespace]
	if own == nil {
		own = &share{slots: make(chan struct{}, cap(s.all)/2)}
		s.namespaces[namespace] = own
	}
	own.users++
	s.mu.Unlock()
	select {
	case own.slots <- struct{}{}:
	case <-ctx.Done():
		s.leave(namespace, own)
		return false
	}
	select {
	case s.all <- struct{}{}:
		return true
	case <-ctx.Done():
		<-own.slots
		s.leave(namespace, own)
		return false
	}
}

// release ends the use of a slot.
func (s *slots) release(namespace string) {
	<-s.all
	s.mu.Lock()
	own := s.namespaces[namespace]
	s.mu.Unlock()
	<-own.slots
	s.leave(namespace, own)
}

func (s *slots) leave(namespace string, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.namespaces, namespace)
	}
}
