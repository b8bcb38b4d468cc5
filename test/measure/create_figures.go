package main

import (
	"time"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
)

// othersWritten is what the operator writes for an application beside the objects
// that it owns: its status, and the event of the transition.
const othersWritten = 2

func createFigures(n int, run operatorRun, floor floorRun) []figure.Figure {
	perObject := func(events []audit.Event) float64 { return float64(len(events)) / float64(n) }
	reads, writes := run.requests[audit.Read], run.requests[audit.Write]
	speed, bareSpeed := rate(n, run.took), rate(n, floor.applications)
	return []figure.Figure{
		figure.Info("objects", float64(n), "objects"),
		figure.Judged("created by the operator", speed, "objects/s", figure.AtLeast(createSpeed)),
		figure.Info("created by a bare client, the same writes", bareSpeed, "objects/s"),
		figure.Info("operator's speed of the bare client's", 100*speed/bareSpeed, "%"),
		figure.Info("created by a bare client, Deployments only", rate(n, floor.deployments), "objects/s"),
		figure.Info("requests per object", perObject(reads)+perObject(writes), "requests"),
		figure.Info("reads per object", perObject(reads), "requests", audit.Tally(reads)...),
		figure.Judged("writes per object", perObject(writes), "requests",
			figure.AtMost(float64(len(floor.kinds)+othersWritten)), audit.Tally(writes)...),
		figure.Info("API server's time for the writes of an object", perObject(writes)*1000*audit.MeanDuration(writes).Seconds(), "ms",
			audit.Durations(writes)...),
		figure.Info("operator's memory afterwards", mebibytes(run.memory.Resident), "MiB"),
		figure.Info("operator's memory at its peak", mebibytes(run.memory.Peak), "MiB"),
		figure.Info("operator's processor time per object", milliseconds(run.processor, n), "ms"),
		figure.Info("control plane's processor time per object, by the operator", milliseconds(run.controlPlane, n), "ms"),
		figure.Info("control plane's processor time per object, by a bare client", milliseconds(floor.controlPlane, n), "ms"),
	}
}

func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// milliseconds is the share of one of n objects.
func milliseconds(d time.Duration, n int) float64 { return 1000 * d.Seconds() / float64(n) }

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
