package main

import (
	"slices"
	"time"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
)

const (
	// scaleRequests is the goal for the number of requests of a backup: the 17 that it needs if it
	// has to wait in the queue, and its share of the policy's status.
	scaleRequests = 18
	// scaleMemory is a quarter of the memory limit of the operator's pod, in MiB.
	scaleMemory = 128
)

func scaleFigures(n int, window time.Duration, run scaleRun, again scaleRestart) []figure.Figure {
	requests := slices.Concat(run.first.requests, run.burst.requests)
	classes := audit.ByClass(requests, process.Account.Namespace)
	counted := append(classes[audit.Read], classes[audit.Write]...)
	idle := audit.ByClass(run.idle, process.Account.Namespace)
	backups, burst := run.burst.backups, run.burst.backups-run.first.backups
	return []figure.Figure{
		figure.Info("targets of one policy", float64(n), "applications"),
		figure.Info("changes of each target, in a burst", scaleChanges, "changes"),
		figure.HasGoal("first backups for each target", float64(run.first.backups)/float64(n), "backups", figure.AtMost(1)),
		figure.HasGoal("backups for each target's burst", float64(burst)/float64(n), "backups", figure.AtMost(1)),
		figure.HasGoal("targets whose last archive contains their last state", float64(run.state.held), "applications", figure.AtLeast(float64(n)),
			run.state.missed[:min(len(run.state.missed), 10)]...),
		figure.HasGoal("attempts that failed", float64(run.burst.failed), "attempts", figure.AtMost(0)),
		figure.HasGoal("jobs, pods and snapshots left", float64(run.state.objects), "objects", figure.AtMost(0)),
		figure.Info("until all had their first backup", run.first.took.Seconds(), "s"),
		figure.Info("until all were changed and backed up again", run.burst.took.Seconds(), "s"),
		figure.Info("requests of the operator", float64(len(counted)), "requests"),
		figure.HasGoal("requests for each backup", float64(len(counted))/float64(backups), "requests", figure.AtMost(scaleRequests),
			audit.Each(counted, backups)...),
		figure.Info("requests while idle: observed for", window.Seconds(), "s"),
		count(idle, audit.Write, figure.AtMost(0)),
		count(idle, audit.Read, figure.AtMost(0)),
		count(idle, audit.Watch, figure.Goal{}),
		figure.Info("operator's memory with all targets and no policy", figure.MiB(run.before.Resident), "MiB"),
		figure.Info("operator's memory after the first backups", figure.MiB(run.first.memory.Resident), "MiB"),
		figure.HasGoal("operator's memory at its peak", figure.MiB(run.after.Peak), "MiB", figure.AtMost(scaleMemory)),
		figure.Info("operator's memory afterwards", figure.MiB(run.after.Resident), "MiB"),
		figure.Info("operator's processor time per backup", figure.Milliseconds(run.processor, backups), "ms"),
		figure.HasGoal("restarted: writes", float64(len(again.requests[audit.Write])), "requests", figure.AtMost(0), audit.Tally(again.requests[audit.Write])...),
		figure.Info("restarted: reads", float64(len(again.requests[audit.Read])), "requests", audit.Tally(again.requests[audit.Read])...),
		figure.Info("restarted: operator's memory at its peak", figure.MiB(again.memory.Peak), "MiB"),
		figure.Info("restarted: operator's processor time", again.processor.Seconds(), "s"),
	}
}
