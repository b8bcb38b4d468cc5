package scale

import (
	"context"
	"errors"
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
	err := b.polling().Until(ctx, func(context.Context) error {
		s, err := b.scrape()
		if err != nil {
			return err
		}
		passes, err := s.sum("controller_runtime_reconcile_total", `controller="`+controller+`"`)
		if err == nil && passes < float64(b.made) {
			err = fmt.Errorf("it has made %.0f passes, for %d objects", passes, b.made)
		}
		if err != nil {
			return err
		}
		busy, err := s.busy()
		if err == nil && busy != 0 {
			err = fmt.Errorf("%.0f passes are queued or running", busy)
		}
		return err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("the restarted operator is not finished within %s: %w", b.Patience, err), context.Cause(ctx))
	}
	return nil
}
