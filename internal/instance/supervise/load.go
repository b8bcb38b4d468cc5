package supervise

import (
	"context"
	"log/slog"
	"os"
	"syscall"
	"time"

	"example.com/nginx-operator/internal/instance/checks"
	"example.com/nginx-operator/internal/instanceapi"
)

// reloadRetry is the delay before another reload of a configuration that nginx did not confirm.
const reloadRetry = 5 * time.Second

// load makes nginx serve a revision, and starts nginx if it does not run.
func (s *Supervisor) load(ctx context.Context, revision string) {
	booting := !s.master.Running()
	c, ok, obsolete := s.prepareWhileRequested(ctx, revision, booting)
	if !ok || obsolete {
		if ctx.Err() == nil && !booting && !obsolete {
			o := s.past.touch(revision)
			o.loaded(o.Problems, time.Now())
			// It passed a test earlier, and may pass the next one.
			o.allowRetry(time.Now())
			s.reloads.Failed++
		}
		s.Store.Drop(c.dir)
		return
	}
	// Only one configuration at a time is on probation.
	s.endProbation()
	var a analysis
	if !booting {
		a = s.begin(ctx, c)
	}
	found := s.misfits(&c.facts)
	for len(found) > 0 && !booting && s.endOldest(ctx) {
		// Clients that keep old workers alive must not keep a change from going live.
		found = s.misfits(&c.facts)
	}
	if len(found) > 0 && !booting {
		s.Store.Drop(c.dir)
		s.notLoaded(revision, found, &failure{})
		return
	}
	s.logged(s.Journal.Begin(revision))
	s.loadCandidate(ctx, c, a, booting)
}

// loadCandidate makes nginx serve a candidate, and rolls back if its checks fail.
func (s *Supervisor) loadCandidate(ctx context.Context, c candidate, a analysis, booting bool) {
	before := s.serving
	found, failed := s.activate(ctx, c, booting)
	switch {
	case ctx.Err() != nil && !s.serving.is(c):
		s.interrupted()
		return
	case len(found) > 0:
		s.logged(s.Journal.End())
		s.notLoaded(c.revision, found, failed)
		return
	}
	s.confirm(ctx, &a)
	passed := false
	if booting {
		before = serving{}
	} else {
		var why rollbackReason
		if why, passed = s.runChecks(ctx, c, a); len(why.problems) > 0 {
			s.rollBack(ctx, c, before, why)
			return
		}
	}
	if ctx.Err() != nil {
		s.interrupted()
		return
	}
	s.setChecks(c.revision, c.facts.checks, passed)
	s.past.touch(c.revision).loaded(nil, time.Now())
	s.onProbation(c, before, a)
	s.Certs.Retry()
	slog.Info("configuration is served", "revision", c.revision, "generation", c.generation)
}

// setChecks starts to repeat the requests of a configuration for readiness. A pod that was ready stays so until
// spec.readiness has failed as often as declared.
func (s *Supervisor) setChecks(revision string, declared instanceapi.Checks, passed bool) {
	s.Checks.SetChecks(revision, checks.Of(declared), passed)
	s.Readiness.SetChecks(revision, checks.ForReadiness(declared), s.Readiness.Passing())
}

// interrupted ends a load with an unknown outcome, because nginx is being stopped. If nginx ended
// by itself, the load stays in the journal.
func (s *Supervisor) interrupted() {
	if s.master.Running() {
		s.logged(s.Journal.End())
	}
}

// notLoaded records why a revision could not be loaded, and whether it may be tried again.
func (s *Supervisor) notLoaded(revision string, found []instanceapi.Problem, failed *failure) {
	o := s.past.touch(revision)
	o.loaded(found, time.Now())
	switch {
	case failed == nil: // A start is repeated anyway.
	case failed.passing():
		o.allowRetry(time.Now())
	default:
		o.Fatal = failed.died
	}
	slog.Error("configuration could not be loaded", "revision", revision, "problems", found)
}

func (s serving) is(c candidate) bool { return s.verified && s.generation == c.generation }

// prepareWhileRequested prepares a revision. It reports whether an order came meanwhile that concerns only other revisions. A
// pod that boots needs some revision, whatever is requested.
func (s *Supervisor) prepareWhileRequested(ctx context.Context, revision string, booting bool) (c candidate, ok, obsolete bool) {
	if booting {
		c, ok = s.prepare(ctx, revision)
		return c, ok, false
	}
	requested, end := s.whileRequested(ctx, revision)
	defer end()
	c, ok = s.prepare(requested, revision)
	return c, ok, requested.Err() != nil
}

// prepare returns the candidate of a revision. It tests the revision unless it passed with the current inputs, and there
// was a dry run whose result fits.
func (s *Supervisor) prepare(ctx context.Context, revision string) (candidate, bool) {
	past := s.past.of(revision)
	if past.Test == instanceapi.Passed && past.inputs == s.inputs && past.failures == 0 && s.hasDryRun(revision, &past.facts) {
		if c, ok := s.passed(revision, past.facts); ok {
			return c, true
		}
	}
	s.dropTested()
	s.generation++
	c, found, err := s.examine(ctx, revision, s.generation, nil)
	if aborted(ctx, err) {
		return c, false
	}
	s.note(revision, c, found, err)
	return c, err == nil && len(found) == 0
}

// hasDryRun reports whether there was a dry run of a revision: here, or in another pod, if its result fits.
func (s *Supervisor) hasDryRun(revision string, known *facts) bool {
	if known.dryRun != noPod {
		return true
	}
	elsewhere := s.dryRunElsewhere(revision)
	return elsewhere != nil && elsewhere.Usage != nil && s.takeDryRun(known, elsewhere)
}

// passed returns the candidate of a revision that has passed its test: the folder that was tested, or a new one if there was a
// reload since, so that generations grow.
func (s *Supervisor) passed(revision string, known facts) (candidate, bool) {
	c := s.tested
	s.tested = candidate{}
	if c.revision != revision || c.generation < s.serving.generation {
		s.Store.Drop(c.dir)
		s.generation++
		var found []instanceapi.Problem
		var err error
		if c, _, found, err = s.assemble(revision, s.generation); err != nil || len(found) > 0 {
			s.Store.Drop(c.dir)
			return candidate{}, false
		}
	}
	c.facts = known
	return c, true
}

// activate starts or reloads nginx with a candidate. The failure is set only for a reload.
func (s *Supervisor) activate(ctx context.Context, c candidate, booting bool) ([]instanceapi.Problem, *failure) {
	if booting {
		return s.boot(ctx, c), nil
	}
	return s.exchange(ctx, c)
}

// boot starts nginx, and ends it again if it does not confirm the candidate.
func (s *Supervisor) boot(ctx context.Context, c candidate) []instanceapi.Problem {
	// Sockets that a killed nginx left behind would block the new one.
	for _, socket := range append(c.facts.sockets, s.statusClient.Socket) {
		if info, err := os.Stat(socket); err == nil && info.Mode().Type() == os.ModeSocket {
			_ = os.Remove(socket)
		}
	}
	if err := s.Store.Switch(c.dir); err != nil {
		return problem(err)
	}
	master, err := s.Binary.Start(s.Store.CurrentPath(), s.Messages, s.redact)
	if err != nil {
		return problem(err)
	}
	s.master = master
	failure := s.waitForWorkers(ctx, &verification{candidate: c, master: master, statusClient: s.statusClient})
	if failure == nil {
		s.serve(c)
		return nil
	}
	if ctx.Err() != nil && master.Running() {
		// drain ends it gracefully.
		return nil
	}
	s.kill(master)
	s.master = nil
	return failure.problems(s.problemReader(c))
}

// exchange makes the running nginx serve a candidate, and rolls back to the previous configuration
// if that fails. The caller has to drop the files of the previous configuration.
func (s *Supervisor) exchange(ctx context.Context, c candidate) ([]instanceapi.Problem, *failure) {
	before := s.serving
	if err := s.Store.Switch(c.dir); err != nil {
		return problem(err), &failure{}
	}
	check, failed, err := s.signalReload(ctx, c)
	if err != nil {
		return problem(err), &failure{}
	}
	if failed == nil {
		s.old.add(check.replaced, time.Now())
		s.serve(c)
		s.reloads.Succeeded++
		return nil, nil
	}
	found := failed.problems(s.problemReader(c))
	if err := s.Store.Switch(before.dir); err != nil {
		return append(found, problem(err)...), failed
	}
	s.Store.Drop(c.dir)
	if ctx.Err() == nil {
		s.reloads.Failed++
		s.switchBack(ctx, before, check, failed)
	}
	return found, failed
}

// signalReload has the master process read a candidate, and waits for the workers.
func (s *Supervisor) signalReload(ctx context.Context, c candidate) (check *verification, failed *failure, err error) {
	s.makeRoom(ctx)
	s.withKeys(ctx, func() (passed bool) {
		check = s.ofServing(c)
		if err = s.master.Signal(syscall.SIGHUP); err != nil {
			return false
		}
		failed = s.waitForWorkers(ctx, check)
		// Workers that have received the configuration are not replaced once more.
		return failed == nil || !failed.refused
	})
	return check, failed, err
}

// switchBack makes sure that nginx serves the previous configuration after a reload that failed. A
// master process that refused the new one never stopped serving it.
func (s *Supervisor) switchBack(ctx context.Context, before serving, failed *verification, why *failure) {
	if why.refused && s.stillServes(ctx, before, failed) {
		return
	}
	slog.Warn("restoring the previous configuration", "revision", before.revision)
	check := s.ofServing(candidate{revision: before.revision, generation: before.generation, dir: before.dir, mounts: s.mounts.versions(), facts: s.past.of(before.revision).facts})
	// There is no other configuration to roll back to, so this one may take longer.
	check.final = true
	s.makeRoom(ctx)
	err := s.master.Signal(syscall.SIGHUP)
	if err == nil {
		if failure := s.waitForWorkers(ctx, check); failure == nil {
			s.old.add(check.replaced, time.Now())
			s.serve(check.candidate)
			return
		}
	}
	slog.Error("nginx does not confirm the previous configuration", "revision", before.revision, "error", err)
	s.serving.verified = false
	s.retryReload = time.Now().Add(reloadRetry)
}

// serve records that the workers confirmed a candidate.
func (s *Supervisor) serve(c candidate) {
	s.serving = s.serving.followedBy(c, time.Now())
	s.mounts.served(c.mounts)
	for _, pid := range s.Proc.Workers(s.master.PID).Running {
		s.Proc.EndFirst(pid)
	}
	if s.Answers != nil {
		s.Answers.SetServedRevision(c.revision)
	}
}

// followedBy returns the state after a candidate was confirmed. The time since when a revision is
// served continues across its generations, unless the workers did not confirm the one before.
func (s serving) followedBy(c candidate, now time.Time) serving {
	next := serving{revision: c.revision, generation: c.generation, dir: c.dir, verified: true, since: now}
	if s.verified && s.revision == c.revision {
		next.since = s.since
	}
	return next
}

// reload reloads the served configuration.
func (s *Supervisor) reload(ctx context.Context) []instanceapi.Problem {
	revision := s.serving.revision
	s.retryReload = time.Now().Add(reloadRetry)
	s.generation++
	c, found, err := s.examine(ctx, revision, s.generation, nil)
	switch {
	case err != nil:
		found = problem(err)
	case len(found) == 0:
		before := s.serving
		if found, _ = s.exchange(ctx, c); len(found) == 0 {
			s.Store.Drop(before.dir)
			s.goOn(c)
		}
	default:
		s.reloads.Failed++
	}
	switch {
	case ctx.Err() != nil:
	case len(found) > 0:
		s.Store.Drop(c.dir)
		slog.Error("reload failed", "revision", revision, "problems", found)
	default:
		o := s.past.touch(revision)
		o.examined(c.facts, nil, s.inputs, time.Now())
		slog.Info("reloaded", "revision", revision, "generation", c.generation)
	}
	return found
}

// publish makes nginx use the new certificates.
func (s *Supervisor) publish(ctx context.Context) {
	undo, done, err := s.Certs.Publish()
	s.inputs++
	if err != nil {
		slog.Error("certificates could not be published", "error", err)
		return
	}
	if !s.master.Running() {
		done()
		return
	}
	if found := s.reload(ctx); len(found) > 0 {
		undo("nginx refused it: " + found[0].Message)
		s.inputs++
		// The cause may be something else, such as a host name that does not resolve.
		s.retryCertificates = time.Now().Add(backOff(s.refusals))
		s.refusals++
		return
	}
	s.refusals, s.retryCertificates = 0, time.Time{}
	done()
}

func problem(err error) []instanceapi.Problem {
	return []instanceapi.Problem{{Message: err.Error()}}
}
