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
	// bad answers has grown by more than suspicion, or requests wait for an answer. A request that nginx
	// passes on to itself counts twice.
	enoughFirst = 4
	// enoughTime is for how long the earlier rate gives as many answers as are enough, if that is more.
	enoughTime = 100 * time.Millisecond
	// inProgressShare is how many answers there must be for each request that waits for one, so that the
	// other pods continue.
	inProgressShare = 3
	suspicion       = 0.1
	// leastExpected is the least number of expected answers whose absence is significant.
	leastExpected = 3
	// leastBefore and leastFirst are the least numbers of answers that are compared.
	leastBefore = 20
	leastFirst  = 5
	// connectionsTimeout bounds a query of nginx's counters.
	connectionsTimeout = time.Second
	// leastSilent is the least number of connections without a request, and of expected requests,
	// from which the comparison concludes that nginx understands no request. A client has silentAfter to
	// send one.
	leastSilent = 5
	silentAfter = 500 * time.Millisecond
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
	// inProgress is the number of requests that nginx handled right before the load, and arrivals are those since the new
	// workers confirmed the configuration.
	// peak is the most that there were more of them since then.
	inProgress, peak int64
	arrivals         arrivals
	// responded is how long after that time the workers last reported their counters.
	responded time.Duration
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
	last, now := s.lastAnalysis, s.connections(ctx)
	a.silentRate = last.silent(now) / max(1, time.Since(last.confirmed).Seconds())
	if now != nil {
		a.inProgress = now.Writing + now.Reading
	}
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
func (a *analysis) silent(now *nginx.Connections) float64 {
	if a.connections == nil || now == nil {
		return 0
	}
	return max(0, float64(now.Accepted-a.connections.Accepted-(now.Requests-a.connections.Requests)))
}

// connections returns nginx's own counters, or nil if they cannot be read.
func (s *Supervisor) connections(ctx context.Context) *nginx.Connections {
	ctx, cancel := context.WithTimeout(ctx, connectionsTimeout)
	defer cancel()
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
func (s *Supervisor) compare(ctx context.Context, c candidate, a *analysis) comparison {
	if !s.compares(c) {
		return comparison{}
	}
	now := s.connections(ctx)
	s.catchUp()
	found := comparison{since: time.Since(a.confirmed), silentRate: a.silentRate}
	found.first, found.before = s.Answers.Comparison()
	found.silent = int64(a.silent(now))
	a.record(now, &found)
	found.arrivals = a.arrivals
	if a.connections != nil {
		found.unresponsive = found.since - a.responded
	}
	return found
}

// errMessage is a string that implements error.
type errMessage string

func (e errMessage) Error() string { return string(e) }

// comparison compares the first answers of a configuration with those before it.
type comparison struct {
	first, before window.Tally
	// silent is the number of connections without a request, and silentLong that of those since silentAfter.
	silent, silentLong int64
	// silentRate is their number per second before the load.
	silentRate float64
	// since is how long the configuration has been served.
	since time.Duration
	// begun is the number of requests that have begun meanwhile, and arrivals are the earlier ones. grown is how many more
	// requests nginx handles than right before the load.
	// peak is the most that it was.
	begun, grown, peak int64
	// inProgress is the number of requests right before the load.
	inProgress int64
	arrivals   arrivals
	// unresponsive is how long no worker has reported its counters.
	unresponsive time.Duration
}

// open reports whether other pods should wait for more answers.
func (a *comparison) open() bool {
	bad := badShare(a.first) > badShare(a.before)+suspicion || a.silent > a.first.Answers
	switch {
	case a.suspect():
		return true
	case a.silent >= leastSilent && a.silent > 2*a.first.Answers, a.piling(), a.unresponsive >= unresponsiveAfter:
		return a.since < probationTime
	case a.since >= suspiciousWait:
		// Fewer answers alone may be fewer clients.
		return a.since < probationTime && a.waiting(a.begun) > 0 && a.behind()
	case bad, a.behind():
		return true
	case a.waiting(a.begun) > 0:
		return a.first.Answers < leastFirst || inProgressShare*a.waiting(a.begun) > a.first.Answers
	default:
		return a.tooFew()
	}
}

// tooFew reports whether answers that are not expected yet may still come: where requests are rare, the first one.
func (a *comparison) tooFew() bool {
	if a.first.Answers == 0 && rate(a.before) >= firstRate {
		return true
	}
	return float64(a.first.Answers) < max(enoughFirst, rate(a.before)*enoughTime.Seconds()) && a.since < firstWait
}

// behind reports whether fewer than half of the answers have arrived that the earlier rate predicts:
// the configuration is slow or does not answer, or the machine is too busy.
func (a *comparison) behind() bool {
	expected := a.expected()
	return expected >= leastExpected && float64(a.first.Answers) < expected/2
}

// expected returns how many answers the earlier rate makes expect.
func (a *comparison) expected() float64 { return rate(a.before) * a.since.Seconds() }

// problem describes what is wrong with the first answers. It is empty if nothing is wrong or there
// are too few answers.
func (a *comparison) problem() string {
	const unless = "; if this is intended, set rollout.firstAnswers: Ignore"
	switch expected := a.expected(); {
	case a.before.Answers < leastBefore:
		return ""
	case a.first.Answers >= leastFirst && canary.Jumped(a.first.Bad, a.first.Answers, a.before.Bad, a.before.Answers):
		return fmt.Sprintf("%s of the first %d answers are 4xx or 5xx, and %s of those before were", percent(a.first), a.first.Answers, percent(a.before)) + unless
	case a.silentLong >= leastSilent && a.silentLong > 2*a.first.Answers && float64(a.silentLong) > 3*a.silentRate*a.since.Seconds() && expected >= leastSilent && expected > 4*float64(a.first.Answers):
		// Only a few answers may be those of a server to which this nginx passes connections
		// through.
		if waiting := a.waiting(a.begun); waiting > 0 {
			return fmt.Sprintf("%d connections did not result in a request, and %d requests wait for an answer", a.silentLong, waiting) + unless
		}
		return fmt.Sprintf("%d connections did not result in a request: check whether nginx expects another protocol than its clients use (ssl, proxy_protocol, stream)", a.silentLong) + unless
	}
	if found := a.hangs(); found != "" {
		return found + unless
	}
	return ""
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
