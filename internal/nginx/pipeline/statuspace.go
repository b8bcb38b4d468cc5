package pipeline

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A rollout writes a few statuses. Pods that change their answers all the time would cause many writes a second, each of an
// object of up to a megabyte. So after freeStatusWrites, an object waits a second between two writes. Another spec or
// configuration ends that, and so does a quiet time.
const (
	freeStatusWrites = 20
	// freeStatusEvery is the time without a write after which another write is free.
	freeStatusEvery = 5 * time.Second
	statusPause     = time.Second
)

// statusPace remembers the last writes of statuses. It is lost with the process.
type statusPace struct {
	mu     sync.Mutex
	writes map[types.NamespacedName]statusWrites
}

// statusWrites are the writes of the status of an object for what it declares.
type statusWrites struct {
	declared string
	// last is the time of the last write, and used the number of free writes.
	last time.Time
	used int
}

// next returns how long the next write of the status of an object has to wait. If it is 0, the write counts.
func (p *statusPace) next(key types.NamespacedName, declared string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.writes[key]
	if s.used = max(0, s.used-int(now.Sub(s.last)/freeStatusEvery)); s.used == 0 || s.declared != declared {
		s = statusWrites{declared: declared}
	}
	if s.used < freeStatusWrites {
		s.used++
	} else if wait := s.last.Add(statusPause).Sub(now); wait > 0 {
		return wait
	}
	if p.writes == nil {
		p.writes = map[types.NamespacedName]statusWrites{}
	}
	s.last = now
	p.writes[key] = s
	return 0
}

func (p *statusPace) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.writes, key)
}
