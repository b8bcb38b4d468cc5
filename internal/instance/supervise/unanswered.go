package supervise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/nginx/canary"
)

// nginx logs a request when it ends, so a request that hangs is in no log. How many have begun comes from nginx's own
// counters: those that have begun some time ago and are not in the log wait for an answer.
const (
	// verdictAfter is how long requests must wait, or answers must have been slow, before a configuration is rolled back. An
	// upstream that is slow for a moment, whatever nginx has loaded, answers sooner.
	verdictAfter = 4 * time.Second
	// slowAfter is the least duration of an answer that is slow.
	slowAfter = time.Second
	// leastSuspicious is the number of late answers that keep the probation open, up to longestProbation, so that no other
	// pod loads the configuration before there is a verdict.
	leastSuspicious  = 2
	longestProbation = 15 * time.Second
	// usual is the share of the earlier rate of answers from which the configuration answers as usual, whatever else it
	// does. It is counted over the time in which the earlier rate makes expect enoughRecent answers, and at least a second.
	usual        = 0.75
	enoughRecent = 3
	leastRecent  = time.Second
	// leastGrown is how many more requests than before the load nginx must have handled at the same time: otherwise, only other
	// requests have come.
	leastGrown = 3
	// unresponsiveAfter is for how long no worker may report its counters, so that the other pods wait.
	unresponsiveAfter = 500 * time.Millisecond
	// logged is how long a request that has ended may not be in the log, and clients that gave up may pause.
	logged = time.Second
	// arrivalInterval is the time between two records of the counters.
	arrivalInterval = 50 * time.Millisecond
	// roundTo is the precision of times in messages.
	roundTo = 100 * time.Millisecond
)

// arrival is how many connections the new workers had accepted, how many requests they had begun to handle, and how many
// they had answered in time, at a time after they confirmed the configuration.
type arrival struct {
	since                 time.Duration
	accepted, begun, good int64
}

// arrivals are the records since then, the oldest first.
type arrivals []arrival

// at returns the last record up to a time; zero if there is none.
func (a arrivals) at(since time.Duration) arrival {
	for _, record := range slices.Backward(a) {
		if record.since <= since {
			return record
		}
	}
	return arrival{}
}

// record adds what nginx's counters say now.
func (a *analysis) record(now *nginx.Connections, found *comparison) {
	if now == nil || a.connections == nil {
		return
	}
	a.responded = found.since
	found.grown, found.inProgress = now.Writing+now.Reading-a.inProgress, a.inProgress
	a.peak = max(a.peak, found.grown)
	found.peak = a.peak
	own := now.Own - a.connections.Own
	latest := arrival{
		since: found.since, accepted: now.Accepted - a.connections.Accepted - own,
		begun: now.Requests - a.connections.Requests - own, good: found.good(),
	}
	if n := len(a.arrivals); n == 0 || latest.since-a.arrivals[n-1].since >= arrivalInterval {
		a.arrivals = append(a.arrivals, latest)
	}
	found.begun = latest.begun
	found.silentLong = max(0, a.arrivals.at(found.since-silentAfter).accepted-latest.begun)
}

// slow returns how long an answer must take to be slow, and verdict how long one must be missing: much longer than answers
// did before the load.
func (a *comparison) slow() time.Duration    { return a.before.Patience(slowAfter) }
func (a *comparison) verdict() time.Duration { return a.before.Patience(verdictAfter) }

// good returns the number of answers that are neither bad nor slow.
func (a *comparison) good() int64 {
	return a.first.Answers - a.first.Bad - a.first.GaveUp - a.first.LongerThan(a.slow())
}

// waiting returns how many requests of those that had begun until a while ago wait for an answer. nginx must handle that
// many more requests than before the load: those that it does not log, and those whose clients have only come back from
// the old workers, such as of websockets, say nothing.
func (a *comparison) waiting(begun int64) int64 {
	return max(0, min(begun-a.first.Answers-a.first.Own, a.grown))
}

// late returns how many answers are missing after a time, were slow, or were not awaited by their clients, and of how many
// requests.
func (a *comparison) late(missing time.Duration) (late, all int64) {
	waiting := a.waiting(a.arrivals.at(a.since - missing).begun)
	return waiting + a.first.GaveUp + a.first.LongerThan(a.slow()), a.first.Answers + waiting
}

// answersAsUsual reports whether recently there were about as many good answers as before.
func (a *comparison) answersAsUsual() bool {
	before := float64(a.before.Answers-a.before.Bad-a.before.LongerThan(a.slow())) / max(1, a.before.Time.Seconds())
	if before <= 0 {
		return true
	}
	recent := min(a.since, max(leastRecent, time.Duration(enoughRecent/before*float64(time.Second))))
	good := a.good() - a.arrivals.at(a.since-recent).good
	return float64(good) >= usual*before*recent.Seconds()
}

// piling reports whether nginx handles twice as many requests as before. Answers to requests that it sends to itself say
// nothing about those.
func (a *comparison) piling() bool { return a.grown >= max(leastGrown, a.inProgress) }

// suspect reports whether enough answers are late to wait for a verdict.
func (a *comparison) suspect() bool {
	if a.before.Answers < leastBefore {
		return false
	}
	late, _ := a.late(a.slow())
	return late >= leastSuspicious && !a.answersAsUsual() || a.dead(a.slow())
}

// dead reports whether nginx has responded to nothing for a while, although requests are expected.
func (a *comparison) dead(limit time.Duration) bool {
	return a.unresponsive >= limit && a.first.Answers == 0 && a.expected() >= leastSilent
}

// hangs describes late and missing answers; empty: there are too few.
func (a *comparison) hangs() string {
	limit := a.verdict()
	late, all := a.late(limit)
	switch {
	case a.dead(limit):
		return fmt.Sprintf("nginx's worker processes have responded to nothing for %s", limit.Round(roundTo))
	case a.since < limit || late < leastFirst || a.peak < leastGrown || a.answersAsUsual(), !canary.Jumped(late, all, a.before.LongerThan(a.slow()), a.before.Answers):
		return ""
	}
	const most = 0.9
	usually := time.Duration(a.before.Latency.Quantile(most) * float64(time.Second))
	return fmt.Sprintf("%d of the first %d requests were not answered in time (%s); before the change, 90%% took at most %s",
		late, all, a.lateParts(late), max(time.Millisecond, usually.Round(time.Millisecond)))
}

// lateParts describes what became of late requests.
func (a *comparison) lateParts(late int64) string {
	var parts []string
	slow := a.first.LongerThan(a.slow())
	if waiting := late - a.first.GaveUp - slow; waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d have waited for an answer for more than %s", waiting, a.verdict().Round(roundTo)))
	}
	if a.first.GaveUp > 0 {
		parts = append(parts, fmt.Sprintf("for %d the client gave up", a.first.GaveUp))
	}
	if slow > 0 {
		parts = append(parts, fmt.Sprintf("%d took longer than %s", slow, a.slow().Round(roundTo)))
	}
	return strings.Join(parts, ", ")
}
