package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/budget"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instanceapi"
)

// dryRunGeneration is the generation that the workers of a dry run answer with. No serving worker
// has it.
const dryRunGeneration = -1

// dryRun starts a second nginx with the configuration of a candidate and one worker process, while
// the first one serves. `nginx -t` starts no worker, so it does not find workers that cannot start,
// do not answer, or need more memory than there is. The resources of that one worker show whether
// all of them fit.
//
// A configuration whose dry run cannot be started is not refused.
func (s *Supervisor) dryRun(ctx context.Context, c candidate) (instanceapi.Usage, []instanceapi.Problem, error) {
	if !s.Binary.CanDryRun {
		return instanceapi.Usage{}, nil, nil
	}
	dry, master, err := s.startDryRun(c)
	defer s.Store.Drop(dry.dir)
	if err != nil {
		return instanceapi.Usage{}, nil, err
	}
	defer s.endDryRun(master)
	v := &verification{
		candidate: dry, master: master, abort: s.dryRunFailed(master),
		statusClient: nginx.NewStatusClient(assemble.StatusSocket(assemble.DryRunDir(s.Assembly.StateDir))),
	}
	room := s.room()
	failure := s.waitForWorkers(ctx, v)
	switch {
	case ctx.Err() != nil:
		return instanceapi.Usage{}, nil, ctx.Err()
	case failure == nil:
		used := s.dryRunUsage(master.PID)
		return used, budget.Check(c.facts.demand, used, room), nil
	case addressInUse(failure.lines):
		// The serving nginx has the address: a unix socket in a file of the image.
		return instanceapi.Usage{}, nil, nil
	default:
		return instanceapi.Usage{}, s.explain(failure, c, dry), nil
	}
}

func (s *Supervisor) startDryRun(c candidate) (candidate, *nginx.Master, error) {
	dir := assemble.DryRunDir(s.Assembly.StateDir)
	if err := os.RemoveAll(dir); err != nil {
		return candidate{}, nil, fmt.Errorf("prepare a dry run: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return candidate{}, nil, fmt.Errorf("prepare a dry run: %w", err)
	}
	settings := s.Assembly
	settings.Revision, settings.Generation, settings.DryRun = c.revision, dryRunGeneration, true
	dry, _, found, err := s.assembleWith(settings)
	if err == nil && len(found) > 0 {
		err = errors.New("the values of variables have changed since the test: " + found[0].Message)
	}
	if err != nil {
		return dry, nil, err
	}
	master, err := s.Binary.StartDryRun(dry.dir, s.testMemory(), c.facts.demand.Threads)
	return dry, master, err
}

// endDryRun kills the second nginx and removes its files.
func (s *Supervisor) endDryRun(master *nginx.Master) {
	master.Kill()
	s.logged(os.RemoveAll(assemble.DryRunDir(s.Assembly.StateDir)))
}

// dryRunFailed returns what ends a dry run early: memory is short, or a worker has started and does not answer.
func (s *Supervisor) dryRunFailed(master *nginx.Master) func() *failure {
	var started time.Time
	return func() *failure {
		if started.IsZero() && len(s.Proc.Workers(master.PID).Running) > 0 {
			started = time.Now()
		}
		if !started.IsZero() && time.Since(started) > reloadTimeout {
			return &failure{reason: fmt.Sprintf("a worker process started, but did not answer within %s", reloadTimeout), lines: master.Log.Since(0)}
		}
		return s.memoryShort()
	}
}

// memoryShort aborts a dry run before the container's memory is used up: otherwise, the kernel may
// kill the whole container.
func (s *Supervisor) memoryShort() *failure {
	room := s.room()
	if !room.Limited || room.Free > budget.Reserve(room)/2 {
		return nil
	}
	return &failure{reason: outOfMemory(room), died: true}
}

// dryRunUsage returns the resources of the dry run with this master process.
func (s *Supervisor) dryRunUsage(master int) instanceapi.Usage {
	var used instanceapi.Usage
	if m, ok := s.Proc.Usage(master); ok {
		used.Master = m.Anonymous
	}
	for _, pid := range s.Proc.Workers(master).Running {
		if w, ok := s.Proc.Usage(pid); ok && w.Private > used.Worker {
			used.Worker, used.Threads = w.Private, w.Threads
		}
		if d, ok := s.Proc.Descriptors(pid); ok {
			used.Sockets, used.Open, used.MaxOpen = d.Sockets, d.Open, d.Limit
		}
	}
	return used
}

// explain returns why a dry run failed. If memory or file descriptors ran out, nginx's own message
// only names the step at which that happened.
func (s *Supervisor) explain(f *failure, c, dry candidate) []instanceapi.Problem {
	at := instanceapi.Problem{File: c.facts.demand.File, Line: c.facts.demand.Line}
	switch {
	case contains(f.lines, "(12: Cannot allocate memory)"), contains(f.lines, "(11: Resource temporarily unavailable)"), contains(f.lines, "exited on signal 9"):
		at.Message = outOfMemory(s.room())
	case contains(f.lines, "(24: Too many open files)"):
		at.File, at.Line = "", 0
		at.Message = "out of file descriptors: a worker process cannot open the files and sockets that the configuration needs: raise or remove worker_rlimit_nofile"
	default:
		return f.problems(s.problemReader(dry))
	}
	if c.facts.demand.Directive != "" {
		at.Message = c.facts.demand.Directive + ": " + at.Message
	}
	return []instanceapi.Problem{at}
}

func outOfMemory(room budget.Room) string {
	if !room.Limited {
		return "out of memory: a worker process needs more memory than is available: lower worker_connections or the threads of thread_pool"
	}
	return fmt.Sprintf("out of memory: a worker process needs more than is left of the container's limit of %d MiB: lower worker_connections or the threads of thread_pool, or raise resources.limits.memory", room.Limit>>20)
}

func addressInUse(lines []string) bool { return contains(lines, "(98: ") }

func contains(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, part) })
}
