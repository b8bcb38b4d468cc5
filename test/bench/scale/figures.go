package scale

import (
	"fmt"
	"time"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
)

// The goals.
const (
	// floorShare is the operator's minimum speed, in percent of the bare client's rate.
	floorShare = 70
	// othersWritten is the number of the operator's writes for an application in addition to the
	// objects that it owns: its status, and the event of the transition.
	othersWritten = 2
	// scaleWrites counts the writes of the Deployment and the status.
	scaleWrites = 2
	// settledWithin bounds the time of a restarted operator, in seconds.
	settledWithin = 30
	// putBackWithin bounds the median duration of drift, in milliseconds.
	putBackWithin = 50
	// memoryEach bounds the memory per object at manyObjects or more, in KiB.
	memoryEach  = 40
	manyObjects = 10000
	// growth bounds the ratio of the cost per object between many and few objects. Runs of the same
	// size differ by as much.
	growth = 1.25
)

// Figures returns the results of a run with their goals.
func (r Result) Figures() []figure.Figure {
	var all []figure.Figure
	for _, figures := range [][]figure.Figure{
		r.createFigures(), r.changeFigures(), r.driftFigures(), r.idleFigures(), r.restartFigures(), r.memoryFigures(),
	} {
		all = append(all, figures...)
	}
	return named(fmt.Sprintf("%d objects: ", r.options.Objects), all)
}

func (r Result) createFigures() []figure.Figure {
	n, create := r.options.Objects, r.create
	speed, bareSpeed := figure.Rate(n, create.took), figure.Rate(r.floor.count, r.floor.applications)
	writes := create.requests[audit.Write]
	figures := []figure.Figure{
		figure.Info("created, by the operator", speed, "objects/s", load(create.usage)),
		figure.Info("created, the same writes by a bare client", bareSpeed, "objects/s", load(r.floor.usage)),
		figure.HasGoal("create: operator's rate relative to the bare client's", 100*speed/bareSpeed, "%", figure.AtLeast(floorShare)),
		figure.Info("bare client, Deployments only", figure.Rate(r.floor.count, r.floor.deployments), "objects/s"),
		figure.Info("create: API server's time for the writes per object", 1000*each(writes, n)*audit.MeanDuration(writes).Seconds(), "ms", audit.Durations(writes)...),
		figure.Info("create: control plane's processor time per object, by a bare client", figure.Milliseconds(r.floor.plane, r.floor.count), "ms"),
	}
	return append(figures, cost("create", create, n, figure.AtMost(float64(len(r.template.Kinds())+othersWritten)))...)
}

// cost returns the figures for the cost per object of a phase with n objects.
func cost(name string, p phase, n int, writes figure.Goal) []figure.Figure {
	written, read := p.requests[audit.Write], p.requests[audit.Read]
	return []figure.Figure{
		figure.HasGoal(name+": writes per object", each(written, n), "requests", writes, audit.Each(written, n)...),
		figure.Info(name+": reads per object", each(read, n), "requests", audit.Each(read, n)...),
		figure.Info(name+": passes per object", p.passes/float64(n), "passes"),
		figure.Info(name+": operator's processor time per object", figure.Milliseconds(p.operator, n), "ms", p.garbage(n)),
		figure.Info(name+": control plane's processor time per object", figure.Milliseconds(p.plane, n), "ms"),
	}
}

// garbage describes the cost of short-lived memory in Go.
func (c counters) garbage(n int) string {
	return fmt.Sprintf("%.1f ms of which for garbage collection; %.0f KiB allocated per object", 1000*c.collecting/float64(n), c.allocated/float64(n)/(1<<10))
}

func each(events []audit.Event, n int) float64 { return float64(len(events)) / float64(n) }

func (r Result) changeFigures() []figure.Figure {
	n := r.options.changed()
	all := []figure.Figure{figure.Info("changed: objects", float64(n), "objects")}
	for _, c := range []struct {
		name  string
		phase phase
		goal  figure.Goal
	}{
		{"replicas 1 → 2, with a PodDisruptionBudget", r.scale.toTwo, figure.AtMost(scaleWrites + 1)},
		{"replicas 2 → 3", r.scale.toThree, figure.AtMost(scaleWrites)},
		{"another image", r.image, figure.Goal{}},
	} {
		all = append(all, figure.Info(c.name+": changed", figure.Rate(n, c.phase.took), "objects/s", load(c.phase.usage)))
		all = append(all, cost(c.name, c.phase, n, c.goal)...)
	}
	return all
}

func (r Result) driftFigures() []figure.Figure {
	n := len(r.drift.latencies)
	milliseconds := func(d time.Duration) float64 { return figure.Milliseconds(d, 1) }
	written := r.drift.requests[audit.Write]
	return []figure.Figure{
		figure.Info("drift: objects tampered with", float64(n), "objects", load(r.drift.usage)),
		figure.HasGoal("drift: corrected, median", milliseconds(r.drift.latencies.quantile(0.5)), "ms", figure.AtMost(putBackWithin)),
		figure.Info("drift: corrected, 99 %", milliseconds(r.drift.latencies.quantile(0.99)), "ms"),
		figure.Info("drift: writes per object", each(written, n), "requests", audit.Each(written, n)...),
	}
}

func (r Result) idleFigures() []figure.Figure {
	figures := []figure.Figure{figure.Info("idle: observed for", r.options.Window.Seconds(), "s")}
	for _, class := range []audit.Class{audit.Write, audit.Read} {
		figures = append(figures, count("idle: ", r.idle, class, figure.AtMost(0)))
	}
	return append(figures,
		count("idle: ", r.idle, audit.Watch, figure.Goal{}),
		figure.Info("idle: operator's processor time", r.idle.operator.Seconds()*1000, "ms"))
}

// count returns the figure for a class of requests.
func count(prefix string, p phase, class audit.Class, goal figure.Goal) figure.Figure {
	events := p.requests[class]
	return figure.HasGoal(prefix+string(class), float64(len(events)), "requests", goal, audit.Tally(events)...)
}

func (r Result) restartFigures() []figure.Figure {
	p := r.restart
	return []figure.Figure{
		figure.HasGoal("restart: every object reconciled within", p.settled.Seconds(), "s", figure.AtMost(settledWithin), load(p.usage)),
		count("restart: ", p.phase, audit.Write, figure.AtMost(0)),
		count("restart: ", p.phase, audit.Read, figure.Goal{}),
		figure.Info("restart: passes per object", p.passes/float64(r.options.Objects), "passes"),
		figure.Info("restart: operator's processor time per object", figure.Milliseconds(p.operator, r.options.Objects), "ms", p.garbage(r.options.Objects)),
	}
}

func (r Result) memoryFigures() []figure.Figure {
	goal := figure.Goal{}
	if r.options.Objects >= manyObjects {
		goal = figure.AtMost(memoryEach)
	}
	return []figure.Figure{
		figure.Info("memory with one object", figure.MiB(r.empty.resident), "MiB", heap(r.empty)),
		figure.Info("memory after the creation", figure.MiB(r.created.resident), "MiB", heap(r.created)),
		figure.Info("memory after the idle time", figure.MiB(r.settled.resident), "MiB", heap(r.settled)),
		figure.Info("memory at its peak", figure.MiB(r.settled.peak), "MiB"),
		figure.Info("memory after the restart", figure.MiB(r.restarted.resident), "MiB", heap(r.restarted)),
		figure.Info("memory at its peak after the restart", figure.MiB(r.restarted.peak), "MiB"),
		figure.HasGoal("memory per object", r.memoryEach(), "KiB", goal),
	}
}

// memoryEach returns the resident memory per object, in KiB.
func (r Result) memoryEach() float64 {
	return float64(r.settled.resident-r.empty.resident) / float64(r.options.Objects) / (1 << 10)
}

// load describes how busy other programs kept the machine.
func load(u usage) string {
	return fmt.Sprintf("other programs used %.0f %% of the processors meanwhile", 100*u.others)
}

func heap(m memory) string { return fmt.Sprintf("%.1f MiB in Go's heap", figure.MiB(m.heap)) }

// Growth compares the cost per object of many objects with that of few.
func Growth(few, many Result) []figure.Figure {
	operator := func(p phase, r Result) float64 { return figure.Milliseconds(p.operator, r.options.Objects) }
	var figures []figure.Figure
	for _, c := range []struct {
		name      string
		few, many float64
	}{
		{"writes on create", each(few.create.requests[audit.Write], few.options.Objects), each(many.create.requests[audit.Write], many.options.Objects)},
		{"passes on create", few.create.passes / float64(few.options.Objects), many.create.passes / float64(many.options.Objects)},
		{"memory that Go allocates on create", few.create.allocated / float64(few.options.Objects), many.create.allocated / float64(many.options.Objects)},
		{"operator's processor time on create", operator(few.create, few), operator(many.create, many)},
		{"operator's processor time after a restart", operator(few.restart.phase, few), operator(many.restart.phase, many)},
		{"memory", few.memoryEach(), many.memoryEach()},
	} {
		figures = append(figures, figure.HasGoal(
			fmt.Sprintf("%s per object, %d to %d objects", c.name, few.options.Objects, many.options.Objects), c.many/c.few, "×", figure.AtMost(growth)))
	}
	return figures
}

// named puts a prefix before the names of figures.
func named(prefix string, figures []figure.Figure) []figure.Figure {
	for i := range figures {
		figures[i].Name = prefix + figures[i].Name
	}
	return figures
}
