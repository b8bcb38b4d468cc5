package supervise

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// Snapshot is what the supervisor knows at one moment. It is never changed.
type Snapshot struct {
	// Status without what has to be looked up: workers, ports, readiness and the time.
	Status instanceapi.Status
	// Requested has the grant, which nobody else may read.
	Requested instanceapi.Requested
	// Master is the process id of nginx; 0 while it does not run.
	Master int
	// ServingSince is since when the workers have answered with Status.Serving.
	ServingSince time.Time
	// Generation that the workers confirmed.
	Generation int64
	// OldGenerations are alive to finish their connections.
	OldGenerations int
	// Quitting is set when nginx was told to end.
	Quitting bool
	// Why nginx does not serve, if it does not.
	Waiting string
}

// Snapshot returns the latest one. It may be called from everywhere.
func (s *Supervisor) Snapshot() *Snapshot { return s.board.Load() }

func (s *Supervisor) report() {
	snapshot := &Snapshot{
		Status: instanceapi.Status{
			Protocol:       instanceapi.Protocol,
			NginxVersion:   s.Binary.Version.String(),
			Stable:         s.folders.stable.revision,
			Next:           s.folders.next.revision,
			Requested:      s.folders.requested.Public(),
			Granted:        s.grantedRevision(),
			Revisions:      s.past.report(),
			Ports:          slices.Clone(s.Ports),
			Reloads:        s.reloads,
			ReloadProblems: s.mounts.report(),
			Draining:       s.draining,
			OnProbation:    s.probation != nil && s.probation.before.dir != "",
			Comparing:      s.probation != nil && s.probation.comparing,
			Workers:        instanceapi.Workers{Configured: s.Assembly.Workers},
		},
		Requested:      s.folders.requested,
		OldGenerations: len(s.old.alive),
		Quitting:       s.quitting,
		Waiting:        s.waiting(),
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
	s.board.Store(snapshot)
}

// waiting tells why nothing is served.
func (s *Supervisor) waiting() string {
	switch stable := s.folders.stable.revision; {
	case s.master.Running() && s.serving.verified:
		return ""
	case s.master.Running():
		return "nginx has not confirmed what it serves"
	case stable == "":
		return "there is no configuration yet"
	case s.past.of(stable).failures > 0:
		return "nginx does not take the configuration: " + s.past.of(stable).Problems[0].Message
	default:
		return "nginx is about to be started"
	}
}
