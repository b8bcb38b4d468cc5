package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"example.com/nginx-operator/internal/canary"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/window"
)

// Answers counts what nginx answers.
type Answers interface {
	// CatchUp counts what nginx has answered until now.
	CatchUp() error
	// Own tells of an answer to the instance itself, which is not a client's.
	Own(status int)
	// Begin tells which configuration nginx is about to load.
	Begin(revision string)
	// Serve tells that the workers have confirmed a configuration.
	Serve(revision string)
	// First are the answers of that configuration until now, and those of the one before it.
	First() (first, before window.Tally)
}

// Other pods wait for the first answers of the first one only where some come in time, and longer
// where these are bad: a change goes live within a second.
const (
	firstWait      = 250 * time.Millisecond
	suspiciousWait = 2 * time.Second
	firstPause     = 25 * time.Millisecond
	// firstRate is how many answers a second there have to be.
	firstRate = 3
	// enoughFirst answers let the others go on, unless their share of bad ones has grown by more
	// than suspicion.
	enoughFirst = 2
	suspicion   = 0.1
	// leastExpected answers have to be expected before their absence means anything.
	leastExpected = 3
	// Fewer answers than that prove nothing.
	leastBefore = 20
	leastFirst  = 5
	// leastSilent is how many connections and expected requests are needed where no request is understood.
	leastSilent = 5
)

// trial is a load whose workers must not crash, and whose first answers are compared with those before it.
type trial struct {
	// mark is the place in the error log before the load, and old are the workers of then.
	mark int
	old  []int
	// confirmed is when the new workers did, and connections what there were until then; nil: nobody knows.
	confirmed   time.Time
	connections *nginx.Connections
	// silentRate is how many more connections than requests there were each second before.
	silentRate float64
}

// begin takes down what the first answers of a candidate are compared with.
func (s *Supervisor) begin(ctx context.Context, c candidate) trial {
	workers := s.Proc.Workers(s.master.PID)
	t := trial{mark: s.master.Log.Mark(), old: slices.Concat(workers.Running, workers.Exiting)}
	if s.Answers == nil {
		return t
	}
	s.catchUp()
	s.Answers.Begin(c.revision)
	last := s.lastTrial
	t.silentRate = last.silent(s.connections(ctx)) / max(1, time.Since(last.confirmed).Seconds())
	return t
}

// confirm begins the comparison: old workers take no connection any more.
func (s *Supervisor) confirm(ctx context.Context, t *trial) {
	t.confirmed = time.Now()
	if s.Answers != nil {
		t.connections = s.connections(ctx)
	}
	s.lastTrial = *t
}

// silent is how many more connections than requests there were since the trial began. The questions of the
// instance are a request for each connection.
func (t trial) silent(now *nginx.Connections) float64 {
	if t.connections == nil || now == nil {
		return 0
	}
	return max(0, float64(now.Accepted-t.connections.Accepted-(now.Requests-t.connections.Requests)))
}

// connections are nginx's own figures; nil: it does not tell.
func (s *Supervisor) connections(ctx context.Context) *nginx.Connections {
	c, err := s.asker.Connections(ctx)
	if err != nil {
		slog.Warn("connections cannot be compared", "error", err)
		return nil
	}
	return &c
}

func (s *Supervisor) catchUp() {
	if err := s.Answers.CatchUp(); err != nil {
		slog.Warn("answers cannot be compared", "error", err)
	}
}

// prove finds out whether what the new workers serve passes its checks. What is gone back to is not gone
// back from: its checks count for readiness alone.
func (s *Supervisor) prove(ctx context.Context, c candidate, t trial) (why rejection, passed bool) {
	found := s.Checks.Failures(ctx, c.facts.checks.Checks)
	switch {
	case len(found) == 0 || ctx.Err() != nil:
		return rejection{}, true
	case s.wayBack(c.revision):
		return rejection{}, false
	}
	if signal := t.crash(s.master.Log); signal != "" {
		return rejection{problems: problem(errMessage(crashMessage(signal, s.room()))), fatal: true}, false
	}
	return rejection{problems: found, passing: true}, false
}

// wayBack tells whether a revision is gone back to: it is what pods boot from, or the operator lets it be loaded
// while another one is tested. An edit that brings an old configuration back is an edit.
func (s *Supervisor) wayBack(revision string) bool {
	asked := s.folders.requested
	return revision == s.folders.stable.revision || revision == asked.Load && revision != asked.Test
}

// awaitsFirst tells whether other pods have to wait for the first answers of a candidate.
func (s *Supervisor) awaitsFirst(c candidate) bool {
	if !s.compares(c) {
		return false
	}
	_, before := s.Answers.First()
	return rate(before) >= firstRate
}

func (s *Supervisor) compares(c candidate) bool {
	return s.Answers != nil && !c.facts.checks.IgnoreFirstAnswers && !s.wayBack(c.revision)
}

// compare compares the first answers of a candidate with those before it. Where nothing is compared, the
// comparison is zero.
func (s *Supervisor) compare(ctx context.Context, c candidate, t trial, now time.Time) comparison {
	if !s.compares(c) {
		return comparison{}
	}
	s.catchUp()
	a := comparison{since: now.Sub(t.confirmed), silentRate: t.silentRate}
	a.first, a.before = s.Answers.First()
	a.silent = int64(t.silent(s.connections(ctx)))
	return a
}

// errMessage is a message as an error.
type errMessage string

func (e errMessage) Error() string { return string(e) }

// comparison of the first answers of a configuration with those before it.
type comparison struct {
	first, before window.Tally
	// silent is how many more connections there were than requests.
	silent int64
	// silentRate is how many of them there were each second before.
	silentRate float64
	// since is for how long the configuration has been served.
	since time.Duration
}

// open tells whether it is worth waiting for more answers.
func (a comparison) open() bool {
	bad := badShare(a.first) > badShare(a.before)+suspicion || a.silent > a.first.Answers
	switch {
	case a.since >= suspiciousWait:
		return false
	case bad, a.late():
		return true
	default:
		return a.first.Answers < enoughFirst && a.since < firstWait
	}
}

// late reports whether fewer than half of the answers have come that the rate before makes expect: the configuration is
// slow or answers nobody, or the machine is too busy to tell.
func (a comparison) late() bool {
	expected := rate(a.before) * a.since.Seconds()
	return expected >= leastExpected && float64(a.first.Answers) < expected/2
}

// problem is what is wrong with the first answers; empty: nothing, or there are too few to tell.
func (a comparison) problem() string {
	const unless = "; if that is meant, set rollout.firstAnswers: Ignore"
	switch expected := rate(a.before) * a.since.Seconds(); {
	case a.before.Answers < leastBefore:
		return ""
	case a.first.Answers >= leastFirst && canary.Jumped(a.first.Bad, a.first.Answers, a.before.Bad, a.before.Answers):
		return fmt.Sprintf("%s of the first %d answers are 4xx or 5xx, and %s of those before were", percent(a.first), a.first.Answers, percent(a.before)) + unless
	case a.silent >= leastSilent && a.silent > 2*a.first.Answers && float64(a.silent) > 3*a.silentRate*a.since.Seconds() && expected >= leastSilent && expected > 4*float64(a.first.Answers):
		// A few answers may be those of a server that this nginx passes requests on to.
		return fmt.Sprintf("of the connections that have come, %d did not become a request: does nginx expect another protocol than its clients speak (ssl, proxy_protocol, stream)?", a.silent) + unless
	default:
		return ""
	}
}

func percent(t window.Tally) string { return fmt.Sprintf("%.0f%%", 100*badShare(t)) }

func badShare(t window.Tally) float64 { return float64(t.Bad) / float64(max(1, t.Answers)) }

// rate is how many answers a second there were.
func rate(t window.Tally) float64 {
	if t.Time <= 0 {
		return 0
	}
	return float64(t.Answers) / t.Time.Seconds()
}
