package scale

import (
	"fmt"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
)

// The goals.
const (
	// changeWrites counts the writes of a change: the candidate's ConfigMap, the stable one, and the status.
	changeWrites = 3
	// changedWithin bounds the median time of a change of one application with manyPods, in seconds.
	changedWithin = 1
	// tailWithin bounds the time from the last of many edits to the last proof, in seconds.
	tailWithin = 5
)

// Figures returns the results of Changes with their goals.
func (r ChangesResult) Figures() []figure.Figure {
	var all []figure.Figure
	for _, s := range []sequence{r.few, r.many} {
		all = append(all, s.figures()...)
	}
	all = append(all, r.ratioFigures()...)
	n := r.options.Objects
	return append(all, named(fmt.Sprintf("%d applications: ", n), r.fleet.figures(n))...)
}

// ratioFigures compare the application with many pods with the one with few.
func (r ChangesResult) ratioFigures() []figure.Figure {
	ratio := func(many, few latencies) float64 { return many.quantile(0.5).Seconds() / few.quantile(0.5).Seconds() }
	name, goal := fmt.Sprintf("%d pods compared with %d: median until ", manyPods, fewPods), figure.AtMost(manyPods/fewPods)
	return []figure.Figure{
		figure.HasGoal(name+"every pod serves it", ratio(r.many.served, r.few.served), "times", goal),
		figure.HasGoal(name+"the status says so", ratio(r.many.proven, r.few.proven), "times", goal),
	}
}

func (s sequence) figures() []figure.Figure {
	goal := figure.Goal{}
	if s.pods == manyPods {
		goal = figure.AtMost(changedWithin)
	}
	all := []figure.Figure{
		figure.Info("changes", float64(len(s.proven)), "changes", load(s.usage)),
		figure.HasGoal("until every pod serves it, median", s.served.quantile(0.5).Seconds(), "s", goal),
		figure.Info("until every pod serves it, maximum", s.served.quantile(1).Seconds(), "s"),
		figure.HasGoal("until the status says so, median", s.proven.quantile(0.5).Seconds(), "s", goal),
		figure.Info("until the status says so, maximum", s.proven.quantile(1).Seconds(), "s"),
	}
	return named(fmt.Sprintf("1 application, %d pods: ", s.pods), append(all, changeCost(s.pollPhase, len(s.proven), figure.AtMost(changeWrites))...))
}

func (f fleetChanges) figures(n int) []figure.Figure {
	all := []figure.Figure{
		figure.HasGoal("edits that are not proven", float64(n-len(f.proven)-f.early), "edits", figure.AtMost(0), load(f.usage)),
		figure.HasGoal("edits whose status was too early", float64(f.early), "edits", figure.AtMost(0)),
		figure.HasGoal("from the last edit to the last proof", f.tail.Seconds(), "s", figure.AtMost(tailWithin)),
		figure.Info("until every pod serves it, median", f.served.quantile(0.5).Seconds(), "s"),
		figure.Info("until every pod serves it, 99 %", f.served.quantile(0.99).Seconds(), "s"),
		figure.Info("until every pod serves it, maximum", f.served.quantile(1).Seconds(), "s"),
		figure.Info("until the status says so, median", f.proven.quantile(0.5).Seconds(), "s"),
		figure.Info("until the status says so, 99 %", f.proven.quantile(0.99).Seconds(), "s"),
		figure.Info("until the status says so, maximum", f.proven.quantile(1).Seconds(), "s"),
	}
	// The operator writes the status of a change in between if the change takes longer than a second.
	all = append(all, changeCost(f.pollPhase, n, figure.Goal{})...)
	return append(all,
		figure.Info("memory before the changes", figure.MiB(f.before.resident), "MiB", heap(f.before)),
		figure.Info("memory after the changes", figure.MiB(f.after.resident), "MiB", heap(f.after)),
		figure.Info("memory at its peak", figure.MiB(f.after.peak), "MiB"))
}

// changeCost returns the figures for the cost of a change, of a phase with n changes. writes is the goal for ConfigMaps
// and the status.
func changeCost(p pollPhase, n int, writes figure.Goal) []figure.Figure {
	read := p.requests[audit.Read]
	pods, application, others := writesOf(p.requests[audit.Write])
	return []figure.Figure{
		figure.HasGoal("writes for pods", float64(len(pods)), "requests", figure.AtMost(0), audit.Tally(pods)...),
		figure.HasGoal("writes of ConfigMaps and the status per change", each(application, n), "requests", writes, audit.Each(application, n)...),
		figure.Info("other writes per change", each(others, n), "requests", audit.Each(others, n)...),
		figure.Info("reads per change", each(read, n), "requests", audit.Each(read, n)...),
		figure.Info("orders per change", float64(p.orders)/float64(n), "orders", fmt.Sprintf("accepted: %.0f", p.counters.orders.accepted)),
		figure.Info("orders that were refused or not answered", p.counters.orders.refused+p.counters.orders.unanswered, "orders",
			fmt.Sprintf("refused: %.0f, not answered: %.0f", p.counters.orders.refused, p.counters.orders.unanswered)),
		figure.Info("queries of instances per change", float64(p.polls)/float64(n), "requests"),
		figure.Info("passes per change", p.passes/float64(n), "passes"),
		figure.Info("operator's processor time per change", figure.Milliseconds(p.operator, n), "ms", p.garbage(n)),
		figure.Info("control plane's processor time per change", figure.Milliseconds(p.plane, n), "ms"),
	}
}

// writesOf divides writes into those of pods, of an application's ConfigMaps and status, and others, which are its
// history and its events.
func writesOf(written []audit.Event) (pods, application, others []audit.Event) {
	for _, e := range written {
		switch {
		case e.Object != nil && e.Object.Resource == "pods":
			pods = append(pods, e)
		case e.Resource() == "configmaps" || e.Resource() == "nginxoperators/status":
			application = append(application, e)
		default:
			others = append(others, e)
		}
	}
	return pods, application, others
}
