package supervise

import (
	"context"
	"log/slog"

	"example.com/nginx-operator/internal/instanceapi"
)

// order is what the operator requests, and the files of revisions that came with it.
type order struct {
	instanceapi.Order
	contents instanceapi.Contents
}

// Order takes the place of what the operator requested before. It is safe for concurrent use.
func (s *Supervisor) Order(latest instanceapi.Order, contents instanceapi.Contents) {
	s.ordered.Store(&order{latest, contents})
	// The loop may be busy with a load.
	s.board.post(func(last *Snapshot) *Snapshot {
		next := *last
		next.Status.Requested, next.OrderPending = latest.Requested, true
		return &next
	})
	select {
	case s.wake <- struct{}{}:
	default: // The loop already has a wake-up pending.
	}
}

// Await returns once what is requested has been carried out, or when ctx is done. It is safe for
// concurrent use.
func (s *Supervisor) Await(ctx context.Context, requested instanceapi.Requested) {
	s.board.await(ctx, func(snapshot *Snapshot) bool { return settled(snapshot, requested) })
}

// settled reports whether waiting for the outcome of a request is useless or done. Until the loop has taken the order, the
// snapshot may be older than the action that the loop performs.
func settled(snapshot *Snapshot, requested instanceapi.Requested) bool {
	if snapshot.Status.Draining || snapshot.Status.Requested != requested {
		return true
	}
	return !snapshot.OrderPending && carriedOut(&snapshot.Status)
}

// carriedOut reports whether an instance has done what it was requested, or will not.
func carriedOut(s *instanceapi.Status) bool {
	if load := s.Requested.Load; load != "" {
		return s.Serving == load && !s.Comparing || failed(s, load)
	}
	test := s.Requested.Test
	return test == "" || s.Serving == test || revisionOf(s, test).Test != "" || failed(s, test)
}

// failed reports whether a revision failed its test or its load.
func failed(s *instanceapi.Status, revision string) bool {
	r := revisionOf(s, revision)
	return r.Test == instanceapi.Failed || r.Load == instanceapi.Failed
}

func revisionOf(s *instanceapi.Status, revision string) instanceapi.Revision {
	for _, r := range s.Revisions {
		if r.Revision == revision {
			return r
		}
	}
	return instanceapi.Revision{}
}

// takeRequest makes the latest order the current request, and keeps the files that came with it. Without an order, the
// mounted files may let the pod load a revision.
func (s *Supervisor) takeRequest() {
	latest := s.ordered.Load()
	if latest == nil {
		if revision := s.Follow(); revision != "" {
			s.folders.requested, s.folders.ordered = instanceapi.Requested{Test: revision, Load: revision}, true
			s.folders.hints = instanceapi.Hints{}
		}
		return
	}
	defer s.ordered.CompareAndSwap(latest, nil)
	for revision, files := range latest.contents {
		if s.Store.Has(revision) {
			continue
		}
		if err := s.Store.SaveRevision(revision, files); err != nil {
			// The status does not show the order, so the operator repeats it.
			slog.Error("cannot keep a configuration that the operator has sent", "error", err)
			return
		}
	}
	s.folders.requested, s.folders.ordered = latest.Requested, true
	s.folders.hints = latest.Hints
}
