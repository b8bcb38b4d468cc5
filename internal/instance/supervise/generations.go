package supervise

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/proc"
)

// maxGenerations bounds the generations of old workers that finish their connections at the same
// time. Each costs the memory of a whole nginx.
const maxGenerations = 4

// generationsPollInterval is the interval at which the process table is read while there are too many
// generations.
const generationsPollInterval = 200 * time.Millisecond

// generations are the replaced workers that have not ended.
type generations struct {
	alive [][]int
	// full is when the bound was reached; zero: it is not reached.
	full time.Time
}

func (g *generations) add(workers []int, now time.Time) {
	g.alive = append(g.alive, slices.Clone(workers))
	if len(g.alive) >= maxGenerations && g.full.IsZero() {
		g.full = now
	}
}

// refresh drops the generations whose workers have all ended.
func (g *generations) refresh(processes proc.FS, master *nginx.Master) {
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

// tooMany returns when to decide again while there are too many generations, or zero if a reload
// may add one. Changes that arrive until then are loaded together. nginx ends old workers after
// worker_shutdown_timeout; if the user's value is longer than timeout, timeout applies.
func (g *generations) tooMany(now time.Time, timeout time.Duration) time.Time {
	if len(g.alive) < maxGenerations || now.Sub(g.full) >= timeout {
		return time.Time{}
	}
	return now.Add(generationsPollInterval)
}

func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(pid int) bool { return slices.Contains(b, pid) })
}
