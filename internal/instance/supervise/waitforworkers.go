package supervise

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instanceapi"
)

// Bounds of a verification. nginx tries to bind an address for 2.5 s.
const (
	// startTimeout bounds a start, and reloadTimeout a reload. Until a start is confirmed, the pod serves nothing that going
	// back could restore, and to start again would take a busy machine as long.
	startTimeout  = time.Minute
	reloadTimeout = 10 * time.Second
	// unavailableTimeout bounds the time in which no worker accepts connections: the replaced ones have
	// stopped, and the new ones do not answer. unavailableTimeoutProven applies if a dry run has shown
	// that a worker answers: then the machine is busy, and going back would take as long again.
	unavailableTimeout       = time.Second
	unavailableTimeoutProven = 5 * time.Second
	verifyPause              = 5 * time.Millisecond
	// answers is the number of correct answers in a row that are required.
	answers = 3
	// respawnTimeout bounds the wait for a worker that nginx has started in place of a crashed one right before it read the
	// candidate. It accepts connections with the previous configuration until nginx tells it to quit.
	respawnTimeout = time.Second
	// answerTimeout is short: while no worker answers, the error log may already show the reason,
	// and nginx must roll back at once.
	answerTimeout = 250 * time.Millisecond
)

// verification is the expected state after a start or a reload.
type verification struct {
	candidate
	// master is the nginx to verify, and statusClient queries its workers.
	master       *nginx.Master
	statusClient nginx.StatusClient
	// replaced are the workers that must not accept connections any more.
	replaced []int
	// quit is set once they have been told to quit.
	quit bool
	// mark is the position in the error log before the reload, which was at begun; zero: there is no reload.
	mark  int
	begun time.Time
	// final verifications continue no matter how long no worker accepts connections.
	final bool
	// unavailableSince is since when no worker accepts connections; zero: some do.
	unavailableSince time.Time
	// abort returns a failure of the caller's own that ends the wait early; nil: there is none.
	abort func() *failure
}

// ofServing returns a verification of the serving nginx.
func (s *Supervisor) ofServing(c candidate) *verification {
	return &verification{candidate: c, master: s.master, statusClient: s.statusClient, replaced: s.Proc.Workers(s.master.PID).Running, mark: s.master.Log.Mark(), begun: time.Now()}
}

// reload reports whether nginx ran before.
func (v *verification) reload() bool { return !v.begun.IsZero() }

// failure is why a verification failed.
type failure struct {
	reason string
	// refused reports whether the master process refused the configuration, so that its workers
	// never received it.
	refused bool
	// died reports whether nginx or its workers ended.
	died bool
	// lines are the lines that the error log got meanwhile.
	lines []string
}

// passing reports whether the failure may go away soon: the workers did not answer in time, an
// address was in use, or a host name did not resolve. Everything else that nginx refuses with a
// message, it will refuse again.
func (f *failure) passing() bool {
	return !f.refused && !f.died || contains(f.lines, "bind() to ") || contains(f.lines, "host not found")
}

func (f *failure) problems(reader problems.Reader) []instanceapi.Problem {
	found := reader.Problems(strings.Join(f.lines, "\n"))
	// The reason already says that a worker ended, without its process ID.
	found = slices.DeleteFunc(found, func(p instanceapi.Problem) bool { return strings.HasPrefix(p.Message, "worker process ") })
	if len(found) > 0 {
		return found
	}
	return []instanceapi.Problem{{Message: f.reason}}
}

// waitForWorkers waits until all workers that accept connections serve the candidate.
func (s *Supervisor) waitForWorkers(ctx context.Context, v *verification) *failure {
	timeout := startTimeout
	if v.reload() {
		timeout = reloadTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("nginx's workers did not confirm the configuration within %s", timeout))
	defer cancel()
	ticker := time.NewTicker(verifyPause)
	defer ticker.Stop()
	for {
		if s.confirmed(ctx, v) {
			return nil
		}
		if early := s.failed(v); early != nil {
			return early
		}
		if v.master == s.master {
			s.noteMemory()
		}
		select {
		case <-v.master.Ended:
			return &failure{reason: "nginx ended: " + v.master.Outcome(), died: true, lines: v.master.Log.Since(v.mark)}
		case <-ctx.Done():
			return &failure{reason: context.Cause(ctx).Error(), lines: v.master.Log.Since(v.mark)}
		case <-ticker.C:
		}
	}
}

// confirmed reads the process table and then queries the workers: those of two generations share the socket, and the
// kernel chooses which one answers.
func (s *Supervisor) confirmed(ctx context.Context, v *verification) bool {
	s.quitReplaced(v)
	if len(s.Proc.RunningWorkers(v.master.PID, v.replaced)) > 0 {
		return false
	}
	if v.hasRespawned(s.Proc.Workers(v.master.PID).Running, time.Now()) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for range answers {
		answer, err := v.statusClient.Served(ctx)
		if err != nil || answer != (nginx.Served{Revision: v.revision, Generation: v.generation}) {
			return false
		}
	}
	return true
}

// quitReplaced ends the replaced workers gracefully once the new ones accept connections: nginx changes the title of a
// worker right before that. nginx itself waits 100 ms, whether they do or not. If the signal is not permitted, nginx's
// comes anyway.
func (s *Supervisor) quitReplaced(v *verification) {
	if v.quit || len(v.replaced) == 0 || !v.started(s.Proc.Workers(v.master.PID).Running) {
		return
	}
	v.quit = true
	for _, pid := range v.replaced {
		// The handle is of one process, even if another one gets its ID.
		worker, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if len(s.Proc.RunningWorkers(v.master.PID, []int{pid})) > 0 {
			_ = worker.Signal(syscall.SIGQUIT)
		}
		_ = worker.Release()
	}
}

// started reports whether all new workers are among the running ones.
func (v *verification) started(running []int) bool {
	replacing := slices.DeleteFunc(slices.Clone(running), func(pid int) bool { return slices.Contains(v.replaced, pid) })
	return len(replacing) >= max(1, v.facts.demand.Workers)
}

// hasRespawned reports whether a worker accepts connections that is neither among the replaced ones nor among the new ones.
func (v *verification) hasRespawned(running []int, now time.Time) bool {
	expected := v.facts.demand.Workers
	return expected > 0 && len(running) > expected && now.Sub(v.begun) < respawnTimeout
}

// failed returns a failure if waiting is useless.
func (s *Supervisor) failed(v *verification) *failure {
	lines := v.master.Log.Since(v.mark)
	switch {
	case refused(lines, v.master.PID):
		return &failure{reason: "nginx refused the configuration", refused: true, lines: lines}
	case fatal(lines, v.master.PID):
		return &failure{reason: "nginx's worker processes cannot start with the configuration", died: true, lines: lines}
	case s.unavailableFor(v, time.Now()) >= v.timeout() && !v.final:
		return &failure{reason: fmt.Sprintf("the new worker processes did not answer within %s after the old ones had stopped", v.timeout()), lines: lines}
	case v.abort != nil:
		return v.abort()
	default:
		return nil
	}
}

// timeout returns how long no worker may accept connections.
func (v *verification) timeout() time.Duration {
	if v.facts.measured == (instanceapi.Usage{}) {
		return unavailableTimeout
	}
	return unavailableTimeoutProven
}

// unavailableFor returns how long no worker has accepted connections: none of the replaced ones is left,
// and the new ones do not answer.
func (s *Supervisor) unavailableFor(v *verification, now time.Time) time.Duration {
	if len(v.replaced) == 0 {
		return 0
	}
	if len(s.Proc.RunningWorkers(v.master.PID, v.replaced)) > 0 {
		v.unavailableSince = time.Time{}
		return 0
	}
	if v.unavailableSince.IsZero() {
		v.unavailableSince = now
	}
	unavailable := now.Sub(v.unavailableSince)
	if unavailable > answerTimeout && s.serving.verified {
		// The pod must not receive requests meanwhile.
		s.serving.verified = false
		s.report()
	}
	return unavailable
}

// refused reports whether the master process refused the configuration. It tries an address that is
// in use five times, and an error that nginx ignores (lock_file) is not a refusal.
func refused(lines []string, master int) bool {
	return slices.ContainsFunc(lines, func(text string) bool {
		line, ok := problems.ParseLine(text)
		trying := strings.HasPrefix(line.Message, "bind() to") && strings.Contains(line.Message, "(98:")
		return ok && line.Level == "emerg" && line.PID == master && !trying && !line.Ignored()
	})
}

// fatal reports whether a new worker ended before it accepted connections, for example because its
// working_directory does not exist, which `nginx -t` does not check. nginx still ends the old
// workers, so every millisecond counts. Clients hardly notice, because the master process keeps the
// sockets open.
func fatal(lines []string, master int) bool {
	return slices.ContainsFunc(lines, func(text string) bool {
		line, ok := problems.ParseLine(text)
		return ok && line.PID == master && strings.Contains(line.Message, "cannot be respawned")
	})
}

// stillServes reports whether nginx still serves the previous configuration with the same workers.
func (s *Supervisor) stillServes(ctx context.Context, before serving, failed *verification) bool {
	for range answers {
		answer, err := s.statusClient.Served(ctx)
		if err != nil || answer != (nginx.Served{Revision: before.revision, Generation: before.generation}) {
			return false
		}
	}
	for _, pid := range s.Proc.Workers(s.master.PID).Running {
		if !slices.Contains(failed.replaced, pid) {
			return false
		}
	}
	return true
}
