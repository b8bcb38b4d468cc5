package supervise

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/budget"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instanceapi"
)

// Bounds of a verification. nginx tries to bind an address for 2.5 s.
const (
	verifyTimeout = 10 * time.Second
	// darkTimeout is how long no worker may take connections: the replaced ones have stopped,
	// and the new ones do not answer. Where a dry run has shown that a worker answers, the
	// machine is busy, and going back would take as long again.
	darkTimeout       = time.Second
	darkTimeoutProven = 5 * time.Second
	verifyPause       = 15 * time.Millisecond
	// answers in a row that have to be right.
	answers = 3
	// answerTimeout is short: while nobody answers, the error log may tell why, and nginx
	// has to go back at once.
	answerTimeout = 250 * time.Millisecond
)

// verification is what has to become true after a start or a reload.
type verification struct {
	candidate
	// master is the nginx, and asker asks its workers.
	master *nginx.Master
	asker  nginx.Asker
	// replaced are the workers that must not take connections any more.
	replaced []int
	// mark is the place in the error log before the reload.
	mark int
	// final verifications go on however long no worker takes connections.
	final bool
	// dark is since when no worker takes connections; zero: some do.
	dark time.Time
	// abort ends the wait early, for a reason of the caller's; nil: there is none.
	abort func() *failure
}

// ofServing is a verification of the nginx that serves.
func (s *Supervisor) ofServing(c candidate) *verification {
	return &verification{candidate: c, master: s.master, asker: s.asker, replaced: s.Proc.Workers(s.master.PID).Running, mark: s.master.Log.Mark()}
}

// failure is why a verification failed.
type failure struct {
	reason string
	// refused tells that the master process did not take the configuration, and that
	// its workers never heard of it.
	refused bool
	// died tells that nginx's workers, or all of nginx, did not survive it.
	died bool
	// lines of the error log meanwhile.
	lines []string
}

// passing tells whether the failure may be over soon: the workers had no time, an address was in
// use, or a name had no address. What else nginx refuses with words it goes on refusing.
func (f *failure) passing() bool {
	return !f.refused && !f.died || contains(f.lines, "bind() to ") || contains(f.lines, "host not found")
}

func (f *failure) problems(reader problems.Reader) []instanceapi.Problem {
	found := reader.Problems(strings.Join(f.lines, "\n"))
	// That a worker ended is told by the reason, and without its number.
	found = slices.DeleteFunc(found, func(p instanceapi.Problem) bool { return strings.HasPrefix(p.Message, "worker process ") })
	if len(found) > 0 {
		return found
	}
	return []instanceapi.Problem{{Message: f.reason}}
}

// verify waits until all workers that take connections serve the candidate.
func (s *Supervisor) verify(ctx context.Context, v *verification) *failure {
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTimeout, fmt.Errorf("nginx's workers did not confirm the configuration within %s", verifyTimeout))
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

// confirmed asks the workers, and looks at the process table as well: workers of two
// generations share the socket, and the kernel chooses which one answers.
func (s *Supervisor) confirmed(ctx context.Context, v *verification) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for range answers {
		answer, err := v.asker.Served(ctx)
		if err != nil || answer != (nginx.Served{Revision: v.revision, Generation: v.generation}) {
			return false
		}
	}
	return !overlap(s.Proc.Workers(v.master.PID).Running, v.replaced)
}

// failed tells what makes waiting useless.
func (s *Supervisor) failed(v *verification) *failure {
	lines := v.master.Log.Since(v.mark)
	switch {
	case refused(lines, v.master.PID):
		return &failure{reason: "nginx refused the configuration", refused: true, lines: lines}
	case fatal(lines, v.master.PID):
		return &failure{reason: "nginx's worker processes cannot start with the configuration", died: true, lines: lines}
	case s.darkFor(v, time.Now()) >= v.patience() && !v.final:
		return &failure{reason: fmt.Sprintf("the new worker processes did not answer within %s after the old ones had stopped", v.patience()), lines: lines}
	case v.abort != nil:
		return v.abort()
	default:
		return nil
	}
}

// patience is how long no worker may take connections.
func (v *verification) patience() time.Duration {
	if v.facts.measured == (budget.Usage{}) {
		return darkTimeout
	}
	return darkTimeoutProven
}

// darkFor is for how long no worker has taken connections: none of those that were replaced
// is left, and the new ones do not answer.
func (s *Supervisor) darkFor(v *verification, now time.Time) time.Duration {
	if len(v.replaced) == 0 {
		return 0
	}
	if overlap(s.Proc.Workers(v.master.PID).Running, v.replaced) {
		v.dark = time.Time{}
		return 0
	}
	if v.dark.IsZero() {
		v.dark = now
	}
	dark := now.Sub(v.dark)
	if dark > answerTimeout && s.serving.verified {
		// The pod must not get requests meanwhile.
		s.serving.verified = false
		s.report()
	}
	return dark
}

// refused tells whether the master process gave the configuration up. An address in use
// is tried five times, and what nginx ignores it has not refused (lock_file).
func refused(lines []string, master int) bool {
	return slices.ContainsFunc(lines, func(text string) bool {
		line, ok := problems.ParseLine(text)
		trying := strings.HasPrefix(line.Message, "bind() to") && strings.Contains(line.Message, "(98:")
		return ok && line.Level == "emerg" && line.PID == master && !trying && !line.Ignored()
	})
}

// fatal tells whether a new worker gave up before it took connections, as with a
// working_directory that does not exist: nginx -t does not look for it. nginx goes on
// to end the old workers nonetheless, so every millisecond counts. Clients do not notice
// much: the master keeps the sockets open.
func fatal(lines []string, master int) bool {
	return slices.ContainsFunc(lines, func(text string) bool {
		line, ok := problems.ParseLine(text)
		return ok && line.PID == master && strings.Contains(line.Message, "cannot be respawned")
	})
}

// unimpressed tells whether nginx still serves, with the same workers, what it did.
func (s *Supervisor) unimpressed(ctx context.Context, before serving, failed *verification) bool {
	for range answers {
		answer, err := s.asker.Served(ctx)
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

func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(pid int) bool { return slices.Contains(b, pid) })
}
