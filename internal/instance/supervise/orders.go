package supervise

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// order is what the operator requests, and the files of revisions that came with it.
type order struct {
	instanceapi.Order
	contents instanceapi.Contents
}

// Order takes the place of what the operator requested before. It returns MissingFiles, and changes nothing, if the files of
// what is requested are neither here nor in contents. It is safe for concurrent use.
func (s *Supervisor) Order(latest instanceapi.Order, contents instanceapi.Contents) (refusal instanceapi.Refusal) {
	// The loop may be busy with a load.
	s.board.post(func(last *Snapshot) *Snapshot {
		available := withContents(last.Status.Available, contents)
		for _, revision := range needed(latest.Requested, last.Status.Requested) {
			if !slices.Contains(available, revision) {
				refusal = instanceapi.MissingFiles
				return last
			}
		}
		s.ordered.Store(&order{latest, contents})
		next := *last
		next.request(latest.Requested, time.Now())
		next.Status.Available, next.OrderPending = available, true
		return &next
	})
	s.attempt.Load().endUnlessRequested(s.ordered.Load())
	select {
	case s.wake <- struct{}{}:
	default: // The loop already has a wake-up pending.
	}
	return refusal
}

// attempt is a test that can last a minute: nginx's workers do not answer, or it waits for a name server.
type attempt struct {
	revision string
	end      context.CancelFunc
}

// endUnlessRequested ends an attempt if an order concerns only other revisions.
func (a *attempt) endUnlessRequested(latest *order) {
	if a == nil || latest == nil || a.revision == latest.Requested.Test || a.revision == latest.Requested.Load {
		return
	}
	a.end()
}

// whileRequested returns a context that is canceled when an order concerns only other revisions. Then a test of the revision
// is of no use, and the new order must not wait for it.
func (s *Supervisor) whileRequested(ctx context.Context, revision string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{revision, cancel}
	s.attempt.Store(a)
	// The order may have come just before.
	a.endUnlessRequested(s.ordered.Load())
	return ctx, func() {
		s.attempt.Store(nil)
		cancel()
	}
}

// needed returns the revisions whose files an order needs. A test that was requested before need not be possible any more:
// the operator repeats it until it decides otherwise.
func needed(latest, before instanceapi.Requested) []string {
	var revisions []string
	if latest.Load != "" {
		revisions = append(revisions, latest.Load)
	}
	if test := latest.Test; test != "" && test != latest.Load && test != before.Test {
		revisions = append(revisions, test)
	}
	return revisions
}

// withContents returns the available revisions, sorted, once the contents of an order have been kept.
func withContents(available []string, contents instanceapi.Contents) []string {
	all := slices.AppendSeq(slices.Clone(available), maps.Keys(contents))
	slices.Sort(all)
	return slices.Compact(all)
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
			if s.atHand(revision) {
				s.logged(s.keep(revision))
			}
			s.request(instanceapi.Requested{Test: revision, Load: revision}, instanceapi.Hints{})
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
	for _, revision := range needed(latest.Requested, s.folders.requested) {
		if err := s.keep(revision); err != nil {
			slog.Error("cannot keep a configuration that the operator has requested", "error", err)
			return
		}
	}
	s.request(latest.Requested, latest.Hints)
}

// request makes something the current request.
func (s *Supervisor) request(requested instanceapi.Requested, hints instanceapi.Hints) {
	s.folders.requested, s.folders.ordered, s.folders.hints = requested, true, hints
}

// prune removes the files of revisions that are neither in use nor requested. An order that comes meanwhile finds those that
// are left.
func (s *Supervisor) prune(inUse ...string) {
	inUse = append(inUse, s.folders.requested.Test, s.folders.requested.Load)
	s.board.post(func(last *Snapshot) *Snapshot {
		next := *last
		var contents instanceapi.Contents
		if latest := s.ordered.Load(); latest != nil {
			// The loop has not taken it yet.
			inUse, contents = append(inUse, latest.Requested.Test, latest.Requested.Load), latest.contents
		}
		s.Store.PruneRevisions(inUse...)
		next.Status.Available = withContents(s.available(), contents)
		return &next
	})
}
