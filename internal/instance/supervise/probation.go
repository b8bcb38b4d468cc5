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

// Workers that answer may still crash with their first requests. So what was loaded is on
// probation for a while: the configuration from before is kept, and memory is looked at.
const (
	probationTime  = 5 * time.Second
	probationPause = 250 * time.Millisecond
)

// probation is of a configuration that was loaded a moment ago.
type probation struct {
	candidate
	trial trial
	// before is what was served; its dir is empty when nothing was.
	before serving
	until  time.Time
	// comparing tells that other pods wait for the first answers.
	comparing bool
	// why it is given up; without problems: it is not.
	why rejection
}

// rejection is why a configuration is gone back from that nginx's workers have confirmed.
type rejection struct {
	problems []instanceapi.Problem
	// fatal tells that it ended workers: no other pod may load it.
	fatal bool
	// passing tells that what is wrong may heal: it is tried again.
	passing bool
}

// onProbation begins the probation of a candidate that the workers have confirmed.
func (s *Supervisor) onProbation(c candidate, before serving, t trial) {
	s.endProbation()
	s.probation = &probation{candidate: c, trial: t, before: before, until: time.Now().Add(probationTime)}
	s.probation.comparing = before.dir != "" && s.awaitsFirst(c)
}

// goOn lets the probation of a revision go on with a later generation of it.
func (s *Supervisor) goOn(c candidate) {
	if s.probation != nil && s.probation.revision == c.revision {
		s.probation.candidate = c
	}
}

// watchProbation gives up what fails on its probation, and ends the probation when its time is over.
func (s *Supervisor) watchProbation(ctx context.Context, now time.Time) {
	p := s.probation
	if p == nil {
		return
	}
	s.noteMemory()
	switch signal := s.crashed(); {
	case signal != "":
		p.why = rejection{problems: problem(errMessage(crashMessage(signal, s.room()))), fatal: true}
	case now.After(p.until):
		s.endProbation()
	case p.before.dir != "" && s.master.Running():
		a := s.compare(ctx, p.candidate, p.trial, now)
		if message := a.problem(); message != "" {
			p.why = rejection{problems: problem(errMessage(message)), passing: true}
		}
		p.comparing = p.comparing && a.open()
	}
}

// givenUp tells whether what was loaded last has failed on its probation.
func (s *Supervisor) givenUp() bool { return s.probation != nil && len(s.probation.why.problems) > 0 }

// endProbation lets go of the configuration from before.
func (s *Supervisor) endProbation() {
	if s.probation == nil {
		return
	}
	s.Store.Drop(s.probation.before.dir)
	s.logged(s.Journal.End())
	s.logged(s.Journal.Forget(s.probation.revision))
	s.probation = nil
}

// crashed is the signal by which a worker ended on probation; empty: none did.
func (s *Supervisor) crashed() string {
	if s.probation == nil || s.probation.before.dir == "" || !s.master.Running() {
		return ""
	}
	return s.probation.trial.crash(s.master.Log)
}

var exitedOnSignal = regexp.MustCompile(`worker process (\d+) exited on signal (\d+)`)

// crash is the signal by which a worker ended since the load; empty: none did. That one of the workers from before
// crashes while it finishes its requests says nothing about the configuration.
func (t trial) crash(log *nginx.Tail) string {
	for _, line := range log.Since(t.mark) {
		found := exitedOnSignal.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if pid, err := strconv.Atoi(found[1]); err == nil && !slices.Contains(t.old, pid) {
			return found[2]
		}
	}
	return ""
}

// undo goes back from a configuration that has failed on its probation.
func (s *Supervisor) undo(ctx context.Context) {
	p := s.probation
	s.probation = nil
	s.takeBack(ctx, p.candidate, p.before, p.why)
	// Whether its checks pass now is not known.
	s.Checks.Watch(p.before.revision, s.past.of(p.before.revision).facts.checks.Checks, false)
}

// takeBack makes nginx serve again what it did before a candidate that its workers have confirmed.
func (s *Supervisor) takeBack(ctx context.Context, c candidate, before serving, why rejection) {
	slog.Error("configuration is given up", "revision", c.revision, "problems", why.problems)
	o := s.past.touch(c.revision)
	o.loaded(why.problems, time.Now())
	o.Fatal = why.fatal
	if why.passing {
		o.pardon(time.Now())
	}
	o.TakenBack = true
	s.reloads.Failed++
	// If nginx does not confirm it, it is what is tried again.
	before.verified = false
	s.serving = before
	if err := s.Store.Switch(before.dir); err != nil {
		s.logged(err)
		s.retryReload = time.Now().Add(reloadRetry)
		return
	}
	s.goBack(ctx, before, s.ofServing(c), &failure{died: true})
	s.Store.Drop(c.dir)
	s.logged(s.Journal.End())
}

func crashMessage(signal string, room budget.Room) string {
	const killed = "9"
	if signal != killed {
		return fmt.Sprintf("a worker process crashed (signal %s) within %s after it had loaded the configuration: does a directive or a module make it crash?", signal, probationTime)
	}
	if !room.Limited {
		return fmt.Sprintf("a worker process was killed within %s after it had loaded the configuration: the node may be out of memory", probationTime)
	}
	return fmt.Sprintf("out of memory: a worker process was killed within %s after it had loaded the configuration: lower worker_processes, worker_connections or the sizes of buffers, or raise resources.limits.memory (%d MiB)",
		probationTime, room.Limit>>20)
}

// noteMemory keeps for the next container that memory was short, which this one may not survive.
func (s *Supervisor) noteMemory() {
	if room := s.room(); room.Limited && room.Free < budget.Reserve(room)/2 {
		s.logged(s.Journal.MemoryShort())
	}
}

// recall takes over what the journal has of configurations that have ended a container.
func (s *Supervisor) recall(now time.Time) {
	for _, e := range s.Journal.Ended() {
		o := s.past.touch(e.Revision)
		o.loaded([]instanceapi.Problem{{Message: endedMessage(e, s.room())}}, now)
		o.Fatal = e.MemoryShort || e.Ends > 1
		o.retry = now.Add(backOffEnds(e.Ends))
		if !o.Fatal {
			// Something else may have ended the container: nginx may boot with it at once.
			o.retry = now
			o.pardon(now)
		}
	}
}

func endedMessage(e journal.Entry, room budget.Room) string {
	if e.MemoryShort && room.Limited {
		return fmt.Sprintf("out of memory: the container ended while nginx loaded the configuration: lower worker_processes, worker_connections or the sizes of buffers and zones, or raise resources.limits.memory (%d MiB)", room.Limit>>20)
	}
	return "the container ended while nginx loaded the configuration: its last state tells why (kubectl describe pod)"
}

// A configuration that nginx boots with may be the only one there is. It is tried again, and
// seldom enough for the kubelet to forget that the container was restarted.
const (
	firstEndRetry = 30 * time.Second
	lastEndRetry  = 15 * time.Minute
)

func backOffEnds(ends int) time.Duration {
	return min(firstEndRetry<<(2*min(max(0, ends-1), 8)), lastEndRetry)
}

// logged is for what can fail without consequence for the nginx that serves.
func (s *Supervisor) logged(err error) {
	if err != nil {
		slog.Error("write to the scratch space", "error", err)
	}
}
