package load

import "sync"

// maxRevision bounds the name of a revision.
const maxRevision = 64

// revisions are the revisions that responses may have.
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

// has reports whether a response may have a revision. It is true if no revision was submitted, and
// if the response has none: the expectation decides whether a revision is required.
func (r *revisions) has(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return name == "" || len(r.names) == 0 || r.names[name]
}
