package main

import (
	"context"
	"errors"
	"time"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/internal/process"
)

const (
	scaleTargets = 1000
	// scaleChanges is the number of changes to each of them, within less than the policy's minimum
	// interval.
	scaleChanges = 10
)

// scaleRun is the result of a run.
type scaleRun struct {
	// first is the phase after the policy was created, burst the one after the changes.
	first, burst scalePhase
	// idle are the requests during a time without changes.
	idle []audit.Event
	// before is the operator's memory with all applications and no policy, after that at the end.
	before, after process.Memory
	processor     time.Duration
	state         scaleState
}

// scalePhase lasts from the cause of backups until the operator has nothing more to do.
type scalePhase struct {
	took     time.Duration
	requests []audit.Event
	// backups is the number of backups at its end, failed the number of failed jobs.
	backups, failed int
	memory          process.Memory
}

// scaleRestart is the result of a restart with nothing to do.
type scaleRestart struct {
	requests  map[audit.Class][]audit.Event
	memory    process.Memory
	processor time.Duration
}

// measureBackupScale backs up a thousand applications in a namespace with one policy. This is the
// worst case for lists of a namespace. Then it changes each application ten times, alternating
// between forceRedeploy and the number of replicas. The operator runs as a separate process; the
// pods of the jobs are simulated in this one.
func measureBackupScale(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := newScaleBench(ctx, s)
	if err != nil {
		return nil, err
	}
	run, err := b.run(ctx)
	if err != nil {
		return nil, err
	}
	s.progress("backup-scale: restarting the operator")
	again, err := b.restart(ctx)
	if err != nil {
		return nil, err
	}
	return scaleFigures(b.n, s.window, run, again), nil
}

func (b *scaleBench) run(ctx context.Context) (run scaleRun, err error) {
	operator, err := b.start()
	if err != nil {
		return run, err
	}
	alive, cancel := operator.Alive(ctx)
	defer cancel()
	err = b.load(alive, operator, &run)
	var stopped error
	run.processor, stopped = operator.Stop()
	return run, errors.Join(err, stopped)
}

// load runs all phases.
func (b *scaleBench) load(ctx context.Context, operator *process.Operator, run *scaleRun) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.session.patience, errors.New("the backups were not written in time"))
	defer cancel()
	b.session.progress("backup-scale: creating %d applications", b.n)
	if err := fleet.Create(ctx, b.plane.Client, scaleNamespace, b.n); err != nil {
		return err
	}
	var err error
	if err = b.log.Silence(ctx, b.user); err != nil {
		return err
	}
	if run.before, err = operator.Memory(); err != nil {
		return err
	}
	b.session.progress("backup-scale: creating the policy")
	if run.first, err = b.phase(ctx, operator, b.createPolicy); err != nil {
		return err
	}
	b.session.progress("backup-scale: changing each %d times", scaleChanges)
	if run.burst, err = b.phase(ctx, operator, b.change); err != nil {
		return err
	}
	b.session.progress("backup-scale: observing for %s", b.session.window)
	start := time.Now()
	if err := pause(ctx, b.session.window); err != nil {
		return err
	}
	if run.idle, err = b.log.Requests(audit.Filter{User: b.user, Since: start}); err != nil {
		return err
	}
	if run.after, err = operator.Memory(); err != nil {
		return err
	}
	run.state, err = b.observe(ctx)
	return err
}

// phase calls begin, and waits until every application's current state is backed up.
func (b *scaleBench) phase(ctx context.Context, operator *process.Operator, begin func(context.Context) error) (p scalePhase, err error) {
	start := time.Now()
	if err := begin(ctx); err != nil {
		return p, err
	}
	if err := b.await(ctx); err != nil {
		return p, err
	}
	p.took = time.Since(start)
	if err := b.log.Silence(ctx, b.user); err != nil {
		return p, err
	}
	if p.requests, err = b.log.Requests(audit.Filter{User: b.user, Since: start}); err != nil {
		return p, err
	}
	backups, err := b.backups(ctx)
	if err != nil {
		return p, err
	}
	p.backups, p.failed = len(backups), b.place.Failed()
	p.memory, err = operator.Memory()
	return p, err
}

// restart starts the operator when there is nothing to do.
func (b *scaleBench) restart(ctx context.Context) (again scaleRestart, err error) {
	start := time.Now()
	operator, err := b.start()
	if err != nil {
		return again, err
	}
	alive, cancel := operator.Alive(ctx)
	defer cancel()
	again.requests, err = b.settled(alive, start)
	if err == nil {
		again.memory, err = operator.Memory()
	}
	var stopped error
	again.processor, stopped = operator.Stop()
	return again, errors.Join(err, stopped)
}

// settled waits until a new operator has read everything and makes no more requests, and returns
// its requests.
func (b *scaleBench) settled(ctx context.Context, start time.Time) (map[audit.Class][]audit.Event, error) {
	for {
		if err := b.log.Silence(ctx, b.user); err != nil {
			return nil, err
		}
		requests, err := b.log.Requests(audit.Filter{User: b.user, Since: start})
		if err != nil {
			return nil, err
		}
		for _, e := range requests {
			if e.Lists() && e.Resource() == "nginxbackups" {
				return audit.ByClass(requests, process.Account.Namespace), nil
			}
		}
	}
}
