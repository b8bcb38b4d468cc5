package supervise

import (
	"context"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/proc"
)

// maxGenerations bounds the generations of old workers that finish their connections at the same
// time. Each costs the memory of a whole nginx.
const maxGenerations = 4

const (
	// generationsPollInterval is the interval at which the process table is read while there are too many
	// generations.
	generationsPollInterval = 200 * time.Millisecond
	// generationTime is how long a reload that no order requests waits for the oldest generation. Without it, files that
	// change every second would end connections that are a few seconds old.
	generationTime = time.Minute
	// generationEndTimeout is how long a generation has to end after SIGTERM.
	generationEndTimeout = time.Second
	generationEndPoll    = 10 * time.Millisecond
)

// generation is a set of replaced workers, and when they were replaced.
type generation struct {
	workers []int
	since   time.Time
}

// generations are the replaced workers that have not ended, the oldest first.
type generations struct {
	alive []generation
	// ended counts the generations that were ended early.
	ended int64
}

func (g *generations) add(workers []int, now time.Time) {
	g.alive = append(g.alive, generation{slices.Clone(workers), now})
}

// refresh drops the generations whose workers have all ended. It returns the workers that have not.
func (g *generations) refresh(processes proc.FS, master *nginx.Master) (exiting []int) {
	if len(g.alive) == 0 {
		return nil
	}
	if master.Running() {
		exiting = processes.Workers(master.PID).Exiting
	}
	g.alive = slices.DeleteFunc(g.alive, func(one generation) bool { return !overlap(one.workers, exiting) })
	return exiting
}

// tooMany returns when to decide again about a reload that no order requests, while there are too many generations; zero:
// it may add one. Changes that arrive until then are loaded together. The oldest generation has generationTime to finish,
// or timeout if that is less, so clients cannot hold up a reload for longer.
func (g *generations) tooMany(now time.Time, timeout time.Duration) time.Time {
	if len(g.alive) < maxGenerations {
		return time.Time{}
	}
	due := g.alive[0].since.Add(min(timeout, generationTime))
	if !now.Before(due) {
		return time.Time{}
	}
	if next := now.Add(generationsPollInterval); next.Before(due) {
		return next
	}
	return due
}

func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(pid int) bool { return slices.Contains(b, pid) })
}

// makeRoom ends the oldest generations early, so that a reload can add one.
func (s *Supervisor) makeRoom(ctx context.Context) {
	for s.old.refresh(s.Proc, s.master); len(s.old.alive) >= maxGenerations; {
		s.endOldest(ctx)
	}
}

// endOldest ends the oldest generation of replaced workers, with the connections that it has. It reports whether there was
// one.
func (s *Supervisor) endOldest(ctx context.Context) bool {
	exiting := s.old.refresh(s.Proc, s.master)
	if len(s.old.alive) == 0 {
		return false
	}
	oldest := s.old.alive[0]
	s.old.alive, s.old.ended = s.old.alive[1:], s.old.ended+1
	slog.Warn("ending old workers early, because others have to be replaced", "workers", oldest.workers, "replaced", oldest.since)
	for _, pid := range oldest.workers {
		if slices.Contains(exiting, pid) {
			// It may have ended meanwhile.
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, generationEndTimeout)
	defer cancel()
	for ctx.Err() == nil && s.master.Running() && overlap(oldest.workers, s.Proc.Workers(s.master.PID).Exiting) {
		select {
		case <-time.After(generationEndPoll):
		case <-ctx.Done():
		}
	}
	return true
}
