package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"example.com/nginx-operator/internal/instance/checks"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/window"
	"example.com/nginx-operator/internal/nginx/canary"
)

// Answers counts the responses of nginx.
type Answers interface {
	// CatchUp counts the responses up to now.
	CatchUp() error
	// CountOwnRequest records a response to a request of the instance itself, so that it is not counted as a
	// client's.
	CountOwnRequest(status int)
	// StartComparison records the configuration that nginx is about to load.
	StartComparison(revision string)
	// SetServedRevision records that the workers have confirmed a configuration.
	SetServedRevision(revision string)
	// Comparison returns the responses of that configuration so far, and those of the one before it.
	Comparison() (first, before window.Tally)
}

// Other pods wait for the first answers of the first pod only if answers are frequent enough, and
// longer only if the answers are bad: a change should go live within a second.
const (
	firstWait      = 250 * time.Millisecond
	suspiciousWait = 2 * time.Second
	firstPause     = 10 * time.Millisecond
	// firstRate is the least number of answers per second for which other pods wait.
	firstRate = 3
	// enoughFirst is the number of answers after which the other pods continue, unless the share of
	// bad answers has grown by more than suspicion.
	enoughFirst = 2
	suspicion   = 0.1
	// leastExpected is the least number of expected answers whose absence is significant.
	leastExpected = 3
	// leastBefore and leastFirst are the least numbers of answers that are compared.
	leastBefore = 20
	leastFirst  = 5
	// leastSilent is the least number of connections without a request, and of expected requests,
	// from which the comparison concludes that nginx understands no request.
	leastSilent = 5
)

// analysis is a load whose workers must not crash, and whose first answers are compared with those
// before it.
type analysis struct {
	// mark is the position in the error log before the load, and old are the workers at that time.
	mark int
	old  []int
	// confirmed is when the new workers confirmed the configuration, and connections are the
	// counters at that time; nil: unknown.
	confirmed   time.Time
	connections *nginx.Connections
	// silentRate is the number of connections without a request per second before the load.
	silentRate float64
}

// begin records what the first answers of a candidate are compared with.
func (s *Supervisor) begin(ctx context.Context, c candidate) analysis {
	workers := s.Proc.Workers(s.master.PID)
	a := analysis{mark: s.master.Log.Mark(), old: slices.Concat(workers.Running, workers.Exiting)}
	if s.Answers == nil {
		return a
	}
	s.catchUp()
	s.Answers.StartComparison(c.revision)
	last := s.lastAnalysis
	a.silentRate = last.silent(s.connections(ctx)) / max(1, time.Since(last.confirmed).Seconds())
	return a
}

// confirm starts the comparison: the old workers accept no connections any more.
func (s *Supervisor) confirm(ctx context.Context, a *analysis) {
	a.confirmed = time.Now()
	if s.Answers != nil {
		a.connections = s.connections(ctx)
	}
	s.lastAnalysis = *a
}

// silent returns how many more connections than requests there were since the analysis began. The
// instance's own requests each use a connection, so they do not count.
func (a analysis) silent(now *nginx.Connections) float64 {
	if a.connections == nil || now == nil {
		return 0
	}
	return max(0, float64(now.Accepted-a.connections.Accepted-(now.Requests-a.connections.Requests)))
}

// connections returns nginx's own counters, or nil if they cannot be read.
func (s *Supervisor) connections(ctx context.Context) *nginx.Connections {
	c, err := s.statusClient.Connections(ctx)
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

// runChecks runs the candidate's checks against the new workers. A configuration that is the target of
// a rollback is not rolled back itself: its checks only count for readiness.
func (s *Supervisor) runChecks(ctx context.Context, c candidate, a analysis) (why rollbackReason, passed bool) {
	found := s.Checks.Failures(ctx, checks.Of(c.facts.checks))
	if s.Readiness.Passing() {
		// What the pod answered until now, a good configuration answers, too.
		found = append(found, s.Readiness.Failures(ctx, checks.ForReadiness(c.facts.checks))...)
	}
	switch {
	case len(found) == 0 || ctx.Err() != nil:
		return rollbackReason{}, true
	case s.isRollback(c.revision):
		return rollbackReason{}, false
	}
	if signal := a.crash(s.master.Log); signal != "" {
		return rollbackReason{problems: problem(errMessage(crashMessage(signal, s.room()))), fatal: true}, false
	}
	return rollbackReason{problems: found, passing: true}, false
}

// isRollback reports whether loading a revision is a rollback: pods boot from it, or the operator
// requests its load while another revision is tested. An edit that restores an old configuration is
// an edit.
func (s *Supervisor) isRollback(revision string) bool {
	requested := s.folders.requested
	return revision == s.folders.stable.revision || revision == requested.Load && revision != requested.Test
}

// awaitsFirst reports whether there are enough answers to wait for the first ones of a candidate.
func (s *Supervisor) awaitsFirst(c candidate) bool {
	if !s.compares(c) {
		return false
	}
	_, before := s.Answers.Comparison()
	return rate(before) >= firstRate
}

func (s *Supervisor) compares(c candidate) bool {
	return s.Answers != nil && !c.facts.checks.IgnoreFirstAnswers && !s.isRollback(c.revision)
}

// compare compares the first answers of a candidate with those before it. It returns a zero
// comparison if this candidate is not compared.
func (s *Supervisor) compare(ctx context.Context, c candidate, a analysis, now time.Time) comparison {
	if !s.compares(c) {
		return comparison{}
	}
	s.catchUp()
	found := comparison{since: now.Sub(a.confirmed), silentRate: a.silentRate}
	found.first, found.before = s.Answers.Comparison()
	found.silent = int64(a.silent(s.connections(ctx)))
	return found
}

// errMessage is a string that implements error.
type errMessage string

func (e errMessage) Error() string { return string(e) }

// comparison compares the first answers of a configuration with those before it.
type comparison struct {
	first, before window.Tally
	// silent is the number of connections without a request.
	silent int64
	// silentRate is their number per second before the load.
	silentRate float64
	// since is how long the configuration has been served.
	since time.Duration
}

// open reports whether other pods should wait for more answers.
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

// late reports whether fewer than half of the answers have arrived that the earlier rate predicts:
// the configuration is slow or does not answer, or the machine is too busy.
func (a comparison) late() bool {
	expected := rate(a.before) * a.since.Seconds()
	return expected >= leastExpected && float64(a.first.Answers) < expected/2
}

// problem describes what is wrong with the first answers. It is empty if nothing is wrong or there
// are too few answers.
func (a comparison) problem() string {
	const unless = "; if this is intended, set rollout.firstAnswers: Ignore"
	switch expected := rate(a.before) * a.since.Seconds(); {
	case a.before.Answers < leastBefore:
		return ""
	case a.first.Answers >= leastFirst && canary.Jumped(a.first.Bad, a.first.Answers, a.before.Bad, a.before.Answers):
		return fmt.Sprintf("%s of the first %d answers are 4xx or 5xx, and %s of those before were", percent(a.first), a.first.Answers, percent(a.before)) + unless
	case a.silent >= leastSilent && a.silent > 2*a.first.Answers && float64(a.silent) > 3*a.silentRate*a.since.Seconds() && expected >= leastSilent && expected > 4*float64(a.first.Answers):
		// Only a few answers may be those of a server to which this nginx passes connections
		// through.
		return fmt.Sprintf("%d connections did not result in a request: check whether nginx expects another protocol than its clients use (ssl, proxy_protocol, stream)", a.silent) + unless
	default:
		return ""
	}
}

func percent(t window.Tally) string { return fmt.Sprintf("%.0f%%", 100*badShare(t)) }

func badShare(t window.Tally) float64 { return float64(t.Bad) / float64(max(1, t.Answers)) }

// rate returns the number of answers per second.
func rate(t window.Tally) float64 {
	if t.Time <= 0 {
		return 0
	}
	return float64(t.Answers) / t.Time.Seconds()
}
