package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"time"

	"example.com/nginx-operator/internal/instance/budget"
	"example.com/nginx-operator/internal/instance/journal"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instanceapi"
)

// Workers that answer may still crash with their first requests. So a load is on probation for a
// while: the previous configuration is kept, and free memory is watched.
const (
	probationTime  = 5 * time.Second
	probationPause = 250 * time.Millisecond
	// doubtAfter is how long the first answers must have kept other pods waiting, so that these wait until all has been well for
	// a while. A good configuration usually needs less.
	doubtAfter = time.Second
)

// probation is the time after a load in which it may be rolled back.
type probation struct {
	candidate
	analysis analysis
	// before is the previous configuration; its dir is empty if there was none.
	before serving
	until  time.Time
	// suspectUntil is until when answers count as late, so that the probation goes on.
	suspectUntil time.Time
	// comparing reports whether other pods wait for the first answers, and doubtUntil is until when they do although nothing is
	// wrong at the moment: between two answers, or when several clients have given up at once.
	comparing  bool
	doubtUntil time.Time
	// why is the reason for a rollback; without problems: there is none.
	why rollbackReason
}

// rollbackReason is why a configuration is rolled back although nginx's workers have confirmed it.
type rollbackReason struct {
	problems []instanceapi.Problem
	// fatal reports whether it ended workers: no other pod may load it.
	fatal bool
	// passing reports whether the cause may go away: the load is tried again.
	passing bool
}

// onProbation starts the probation of a candidate that the workers have confirmed.
func (s *Supervisor) onProbation(c candidate, before serving, a analysis) {
	s.endProbation()
	s.probation = &probation{candidate: c, analysis: a, before: before, until: time.Now().Add(probationTime)}
	s.probation.comparing = before.dir != "" && s.folders.hints.First && s.awaitsFirst(c)
}

// goOn continues the probation of a revision with a later generation of it.
func (s *Supervisor) goOn(c candidate) {
	if s.probation != nil && s.probation.revision == c.revision {
		s.probation.candidate = c
	}
}

// watchProbation rejects a configuration that fails on its probation, and ends the probation when
// its time has passed.
func (s *Supervisor) watchProbation(ctx context.Context, now time.Time) {
	p := s.probation
	if p == nil {
		return
	}
	s.noteMemory()
	switch signal := s.crashed(); {
	case signal != "":
		p.why = rollbackReason{problems: problem(errMessage(crashMessage(signal, s.room()))), fatal: true}
	case now.After(p.end(now)):
		s.endProbation()
	case p.before.dir != "" && s.master.Running():
		a := s.compare(ctx, p.candidate, &p.analysis)
		if message := a.problem(); message != "" {
			p.why = rollbackReason{problems: problem(errMessage(message)), passing: true}
		}
		p.hold(&a, now)
	}
}

// hold decides whether the probation goes on, and whether other pods wait for it.
func (p *probation) hold(a *comparison, now time.Time) {
	if a.suspect() {
		p.suspectUntil = now.Add(logged)
	}
	open := a.open()
	if open && a.since >= doubtAfter {
		p.doubtUntil = now.Add(logged)
	}
	p.comparing = p.comparing && (open || now.Before(p.suspectUntil) || now.Before(p.doubtUntil))
}

// end returns when the probation ends.
func (p *probation) end(now time.Time) time.Time {
	if now.Before(p.suspectUntil.Add(probationPause)) {
		return p.until.Add(longestProbation - probationTime)
	}
	return p.until
}

// givenUp reports whether the last load has failed on its probation.
func (s *Supervisor) givenUp() bool { return s.probation != nil && len(s.probation.why.problems) > 0 }

// endProbation ends the probation and drops the files of the previous configuration.
func (s *Supervisor) endProbation() {
	if s.probation == nil {
		return
	}
	s.Store.Drop(s.probation.before.dir)
	s.logged(s.Journal.End())
	s.logged(s.Journal.Forget(s.probation.revision))
	s.probation = nil
}

// crashed returns the signal by which a worker ended on probation, or "" if none did.
func (s *Supervisor) crashed() string {
	if s.probation == nil || s.probation.before.dir == "" || !s.master.Running() {
		return ""
	}
	return s.probation.analysis.crash(s.master.Log)
}

var exitedOnSignal = regexp.MustCompile(`worker process (\d+) exited on signal (\d+)`)

// crash returns the signal by which a worker ended since the load, or "" if none did. It ignores
// the previous workers: a crash while they finish their requests says nothing about the new
// configuration.
func (a *analysis) crash(log *nginx.Tail) string {
	for _, line := range log.Since(a.mark) {
		found := exitedOnSignal.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if pid, err := strconv.Atoi(found[1]); err == nil && !slices.Contains(a.old, pid) {
			return found[2]
		}
	}
	return ""
}

// undo rolls back a configuration that has failed on its probation.
func (s *Supervisor) undo(ctx context.Context) {
	p := s.probation
	s.probation = nil
	s.rollBack(ctx, p.candidate, p.before, p.why)
	// Whether the checks of the previous configuration pass now is unknown.
	s.setChecks(p.before.revision, s.past.of(p.before.revision).facts.checks, false)
}

// rollBack makes nginx serve the previous configuration again, after the workers have confirmed a
// candidate.
func (s *Supervisor) rollBack(ctx context.Context, c candidate, before serving, why rollbackReason) {
	slog.Error("rolling back the configuration", "revision", c.revision, "problems", why.problems)
	o := s.past.touch(c.revision)
	o.loaded(why.problems, time.Now())
	o.Fatal = why.fatal
	if why.passing {
		o.allowRetry(time.Now())
	}
	o.TakenBack = true
	s.reloads.Failed++
	// If nginx does not confirm it, its reload is repeated.
	before.verified = false
	s.serving = before
	if err := s.Store.Switch(before.dir); err != nil {
		s.logged(err)
		s.retryReload = time.Now().Add(reloadRetry)
		return
	}
	s.switchBack(ctx, before, s.ofServing(c), &failure{died: true})
	// The next load is compared with what this configuration does.
	s.confirm(ctx, &analysis{})
	s.Store.Drop(c.dir)
	s.logged(s.Journal.End())
}

func crashMessage(signal string, room budget.Room) string {
	const killed = "9"
	if signal != killed {
		return fmt.Sprintf("a worker process crashed (signal %s) within %s after it had loaded the configuration: check the directives and modules that the configuration adds", signal, probationTime)
	}
	if !room.Limited {
		return fmt.Sprintf("a worker process was killed within %s after it had loaded the configuration: the node may be out of memory", probationTime)
	}
	return fmt.Sprintf("out of memory: a worker process was killed within %s after it had loaded the configuration: lower worker_processes, worker_connections or the sizes of buffers, or raise resources.limits.memory (%d MiB)",
		probationTime, room.Limit>>20)
}

// noteMemory records in the journal that memory was short, for the next container: this one may not
// survive it.
func (s *Supervisor) noteMemory() {
	if room := s.room(); room.Limited && room.Free < budget.Reserve(room)/2 {
		s.logged(s.Journal.MemoryShort())
	}
}

// recall restores from the journal which configurations have ended a container.
func (s *Supervisor) recall(now time.Time) {
	for _, e := range s.Journal.CrashedLoads() {
		o := s.past.touch(e.Revision)
		o.loaded([]instanceapi.Problem{{Message: endedMessage(e, s.room())}}, now)
		o.Fatal = e.MemoryShort || e.Ends > 1
		o.retry = now.Add(backOffEnds(e.Ends))
		if !o.Fatal {
			// Something else may have ended the container, so nginx may boot with it at once.
			o.retry = now
			o.allowRetry(now)
		}
	}
}

func endedMessage(e journal.Entry, room budget.Room) string {
	if e.MemoryShort && room.Limited {
		return fmt.Sprintf("out of memory: the container ended while nginx loaded the configuration: lower worker_processes, worker_connections or the sizes of buffers and zones, or raise resources.limits.memory (%d MiB)", room.Limit>>20)
	}
	return "the container ended while nginx loaded the configuration: see its last state (kubectl describe pod)"
}

// The configuration that nginx boots with may be the only one. It is tried again, but rarely enough
// that the kubelet resets its own back-off for the container.
const (
	firstEndRetry = 30 * time.Second
	lastEndRetry  = 15 * time.Minute
)

func backOffEnds(ends int) time.Duration {
	return min(firstEndRetry<<(2*min(max(0, ends-1), 8)), lastEndRetry)
}

// logged logs an error that does not affect the serving nginx.
func (s *Supervisor) logged(err error) {
	if err != nil {
		slog.Error("write to the scratch space", "error", err)
	}
}
