package load

import "sync"

// maxRevision bounds the name of a revision.
const maxRevision = 64

// revisions are those that answers may be of.
type revisions struct {
	mu    sync.RWMutex
	names map[string]bool
}

func newRevisions(names []string) *revisions {
	r := &revisions{names: map[string]bool{}}
	for _, name := range names {
		r.add(name)
	}
	return r
}

func (r *revisions) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names[name] = true
}

// has is true for every revision as long as none was submitted, and where none is told:
// whether an answer has to tell one is for the expectation to say.
func (r *revisions) has(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return name == "" || len(r.names) == 0 || r.names[name]
}
