package scale

import (
	"context"
	"fmt"
	"time"

	"example.com/nginx-operator/test/internal/process"
)

// restart has the results of an operator that starts with nothing to do.
type restart struct {
	phase
	// settled is the time from its start until it had reconciled every object and had nothing more
	// to do.
	settled time.Duration
}

// restart kills and restarts the operator.
func (b *bench) restart(ctx context.Context, result *Result) (err error) {
	b.Progress("%d objects: killing and restarting the operator", b.Objects)
	if err := b.operator.Kill(); err != nil {
		return err
	}
	b.operator = nil
	r := &result.restart
	before, err := b.meter()
	if err != nil {
		return err
	}
	if err := b.start(); err != nil {
		return err
	}
	ctx, done := b.operator.Alive(ctx)
	defer done()
	if err := b.settle(ctx); err != nil {
		return err
	}
	r.settled = time.Since(before.at)
	if r.usage, err = b.used(before); err != nil {
		return err
	}
	if err := b.plane.log.Silence(ctx, process.Username()); err != nil {
		return err
	}
	if r.counters, err = b.counters(); err != nil {
		return err
	}
	if err := b.count(&r.phase, before.at); err != nil {
		return err
	}
	result.restarted, err = b.memory()
	return err
}

// settle waits until a new operator has reconciled every object and has nothing more to do.
func (b *bench) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.Patience, fmt.Errorf("the restarted operator is not finished within %s", b.Patience))
	defer cancel()
	return poll(ctx, func() (bool, error) {
		s, err := b.scrape()
		if err != nil {
			return false, nil //nolint:nilerr // it does not answer yet
		}
		passes, err := s.sum("controller_runtime_reconcile_total", `controller="`+controller+`"`)
		if err != nil || passes < float64(b.made) {
			return false, err
		}
		busy, err := s.busy()
		return busy == 0, err
	})
}
