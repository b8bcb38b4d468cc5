package supervise

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/proc"
)

// maxGenerations of workers may finish their connections at the same time. Each costs
// the memory of a whole nginx.
const maxGenerations = 4

// crowdedPause is how often the process table is looked at while there are too many.
const crowdedPause = 200 * time.Millisecond

// generations are the workers that were replaced and have not ended.
type generations struct {
	alive [][]int
	// full is since when there are too many.
	full time.Time
}

func (g *generations) add(workers []int, now time.Time) {
	g.alive = append(g.alive, slices.Clone(workers))
	if len(g.alive) >= maxGenerations && g.full.IsZero() {
		g.full = now
	}
}

// look drops the generations whose workers have all ended.
func (g *generations) look(processes proc.FS, master *nginx.Master) {
	if len(g.alive) == 0 {
		return
	}
	var exiting []int
	if master.Running() {
		exiting = processes.Workers(master.PID).Exiting
	}
	g.alive = slices.DeleteFunc(g.alive, func(workers []int) bool { return !overlap(workers, exiting) })
	if len(g.alive) < maxGenerations {
		g.full = time.Time{}
	}
}

// crowded is until when no reload should be added; changes that come meanwhile are
// loaded together. nginx ends old workers after worker_shutdown_timeout; if a user's is
// longer than ours, ours counts.
func (g *generations) crowded(now time.Time, timeout time.Duration) time.Time {
	if len(g.alive) < maxGenerations || now.Sub(g.full) >= timeout {
		return time.Time{}
	}
	return now.Add(crowdedPause)
}
