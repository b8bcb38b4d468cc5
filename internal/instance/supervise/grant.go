package supervise

import "example.com/nginx-operator/internal/instanceapi"

// granted is a revision that may be loaded although no annotation says so yet, and the
// grant under which.
type granted struct {
	revision, grant string
}

// Grant takes the word at which what was asked to be tested is loaded. It tells whether
// it is the right one. It may be called from everywhere.
//
// The kubelet brings a pod an annotation at most once a second; the word follows the
// first annotation at once. It can do no more than that annotation has announced, and
// only what the operator wrote there tells which word is right.
func (s *Supervisor) Grant(word string) bool {
	requested := s.Snapshot().Requested
	if requested.Test == "" || !instanceapi.Opens(word, requested.Grant) {
		return false
	}
	s.granted.Store(&granted{requested.Test, requested.Grant})
	s.announce(requested.Test)
	select {
	case s.told <- struct{}{}:
	default: // It was told already, and nobody has looked since.
	}
	return true
}

// announce reports the grant before the loop, which may be busy with it, does.
func (s *Supervisor) announce(revision string) {
	for {
		last := s.board.Load()
		next := *last
		next.Status.Granted = revision
		if s.board.CompareAndSwap(last, &next) {
			return
		}
	}
}

// grantedRevision is empty when the request has changed since the word was told.
func (s *Supervisor) grantedRevision() string {
	g := s.granted.Load()
	if g == nil || g.revision != s.folders.requested.Test || g.grant != s.folders.requested.Grant {
		return ""
	}
	return g.revision
}

// toLoad is the revision that has to be served; empty: what is served stays.
func (s *Supervisor) toLoad() string {
	if revision := s.grantedRevision(); revision != "" {
		return revision
	}
	return s.folders.requested.Load
}
