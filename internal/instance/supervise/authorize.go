package supervise

import "example.com/nginx-operator/internal/instanceapi"

// authorization is a revision that may be loaded before an annotation requests it, and the hash of
// the token that authorized it.
type authorization struct {
	revision, tokenHash string
}

// Authorize authorizes the load of the revision whose test is requested, and reports whether the
// load token is valid. It is safe for concurrent use.
//
// The kubelet updates a pod's annotations at most once a second, so the second annotation, which
// requests the load, would arrive late; the token is sent at once. It authorizes no more than the
// first annotation announced, and only the operator can publish the token's hash there.
func (s *Supervisor) Authorize(token string) bool {
	requested := s.Snapshot().Requested
	if requested.Test == "" || !instanceapi.VerifyToken(token, requested.TokenHash) {
		return false
	}
	s.authorized.Store(&authorization{requested.Test, requested.TokenHash})
	s.announce(requested.Test)
	select {
	case s.wake <- struct{}{}:
	default: // The loop already has a wake-up pending.
	}
	return true
}

// announce publishes the authorization at once, because the loop may be busy with a load.
func (s *Supervisor) announce(revision string) {
	for {
		last := s.board.Load()
		next := *last
		next.Status.Authorized = revision
		if s.board.CompareAndSwap(last, &next) {
			return
		}
	}
}

// authorizedRevision returns the revision that a token authorized, or "" if the request has changed
// since.
func (s *Supervisor) authorizedRevision() string {
	auth := s.authorized.Load()
	if auth == nil || auth.revision != s.folders.requested.Test || auth.tokenHash != s.folders.requested.TokenHash {
		return ""
	}
	return auth.revision
}

// revisionToServe returns the revision to serve, or "" if the current one stays.
func (s *Supervisor) revisionToServe() string {
	if revision := s.authorizedRevision(); revision != "" {
		return revision
	}
	return s.folders.requested.Load
}
