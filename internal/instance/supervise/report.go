package supervise

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// Snapshot is the state of the supervisor at one moment. It is immutable.
type Snapshot struct {
	// Status lacks what is looked up on request: workers, ports, readiness and the time.
	Status instanceapi.Status
	// Master is the process ID of nginx; 0 while it does not run.
	Master int
	// ServingSince is when the workers began to answer with Status.Serving, and RequestedSince is when Status.Requested became
	// what is requested.
	ServingSince, RequestedSince time.Time
	// Generation is the generation that the workers confirmed.
	Generation int64
	// OldGenerations is the number of generations of workers that finish their connections. EndedGenerations counts those
	// that were ended early.
	OldGenerations   int
	EndedGenerations int64
	// OrderPending is set while there is an order that the loop has not taken yet.
	OrderPending bool
	// Quitting is set once nginx was signaled to end.
	Quitting bool
	// Waiting is why nginx does not serve; empty if it does.
	Waiting string
}

// Snapshot returns the latest snapshot. It is safe for concurrent use.
func (s *Supervisor) Snapshot() *Snapshot {
	latest, _ := s.board.read()
	return latest
}

func (s *Supervisor) report() {
	snapshot := &Snapshot{
		Status: instanceapi.Status{
			Protocol:       instanceapi.Protocol,
			NginxVersion:   s.Binary.Version.String(),
			Stable:         s.folders.stable.revision,
			Next:           s.folders.next.revision,
			Requested:      s.folders.requested,
			Available:      s.available(),
			Revisions:      s.past.report(),
			Ports:          slices.Clone(s.Ports),
			Reloads:        s.reloads,
			ReloadProblems: s.mounts.report(),
			Draining:       s.draining,
			OnProbation:    s.probation != nil && s.probation.before.dir != "",
			Comparing:      s.probation != nil && s.probation.comparing,
			Workers:        instanceapi.Workers{Configured: s.Assembly.Workers},
		},
		OldGenerations:   len(s.old.alive),
		EndedGenerations: s.old.ended,
		Quitting:         s.quitting,
		Waiting:          s.waiting(),
	}
	known := s.past.of(s.serving.revision).facts
	snapshot.Status.Certificates = s.Certs.Report(known.uses)
	if known.demand.Workers > 0 {
		snapshot.Status.Workers.Configured = known.demand.Workers
	}
	if s.master.Running() {
		snapshot.Master = s.master.PID
		if s.serving.verified {
			snapshot.Status.Serving, snapshot.Generation = s.serving.revision, s.serving.generation
			snapshot.ServingSince = s.serving.since
		}
	}
	requested := snapshot.Status.Requested
	s.board.post(func(last *Snapshot) *Snapshot {
		if latest := s.ordered.Load(); latest != nil {
			// The loop has not taken it yet.
			requested, snapshot.OrderPending = latest.Requested, true
			snapshot.Status.Available = withContents(snapshot.Status.Available, latest.contents)
		}
		if last != nil {
			snapshot.Status.Requested, snapshot.RequestedSince = last.Status.Requested, last.RequestedSince
		}
		snapshot.request(requested, time.Now())
		return snapshot
	})
}

// request records what is requested from a time on, unless it was requested before.
func (s *Snapshot) request(requested instanceapi.Requested, now time.Time) {
	if s.Status.Requested != requested || s.RequestedSince.IsZero() {
		s.Status.Requested, s.RequestedSince = requested, now
	}
}

// waiting returns why nothing is served.
func (s *Supervisor) waiting() string {
	switch stable := s.folders.stable.revision; {
	case s.master.Running() && s.serving.verified:
		return ""
	case s.master.Running():
		return "nginx has not confirmed what it serves"
	case stable == "":
		return "there is no configuration yet"
	case s.past.of(stable).failures > 0:
		return "nginx refused the configuration: " + s.past.of(stable).Problems[0].Message
	default:
		return "nginx is about to be started"
	}
}
