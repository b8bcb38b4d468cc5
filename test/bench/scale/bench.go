package scale

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/kubetest"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/testenv"
)

// controller is the controller's name in the operator's metrics.
const controller = "nginxoperator"

// bench is an operator with a control plane.
type bench struct {
	Options
	plane *plane
	// program is the path of the operator's program.
	program string
	// operator is nil while none runs. address is the address of its metrics.
	operator *process.Operator
	address  string
	starts   int
	// memoryLimit is the operator's GOMEMLIMIT in bytes; 0: none.
	memoryLimit int64
	// made is the number of objects that were created.
	made int
}

func newBench(ctx context.Context, options Options) (*bench, error) {
	plane, err := startPlane(ctx, namespace, warmUpNamespace)
	if err != nil {
		return nil, err
	}
	b := &bench{Options: options, plane: plane}
	if b.program, err = process.Build(ctx, plane.dir); err != nil {
		return nil, errors.Join(err, plane.stop())
	}
	return b, nil
}

// withOperator calls do with a bench whose operator runs, and then stops everything.
func withOperator(ctx context.Context, options Options, do func(*bench) error) (err error) {
	b, err := newBench(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	if err := b.start(); err != nil {
		return err
	}
	return do(b)
}

// start starts the operator.
func (b *bench) start() error {
	port, err := testenv.FreePort()
	if err != nil {
		return err
	}
	b.starts++
	b.address = fmt.Sprintf("127.0.0.1:%d", port)
	command := process.Command{
		Program: b.program, Kubeconfig: b.plane.kubeconfig(), Log: filepath.Join(b.plane.dir, fmt.Sprintf("operator-%d.log", b.starts)),
		// Disable the metrics of every object: frequent reads of them would cost more than what is
		// measured.
		Arguments: process.Arguments("--conversion-webhook=false", "--metrics-secure=false", "--metrics-max-objects=0", "--metrics-bind-address="+b.address),
	}
	if b.memoryLimit > 0 {
		command.Environment = []string{fmt.Sprintf("GOMEMLIMIT=%d", b.memoryLimit)}
	}
	b.operator, err = command.Start()
	return err
}

func (b *bench) stop() error {
	var err error
	if b.operator != nil {
		_, err = b.operator.Stop()
	}
	return errors.Join(err, b.plane.stop())
}

// phase has the cost of a phase.
type phase struct {
	// took is the time from the start to the last write of an object or status or, if nothing is
	// written, to the end.
	took time.Duration
	// requests are the operator's requests by class.
	requests map[audit.Class][]audit.Event
	counters
	usage
}

// phase calls do while the operator runs, and waits until the operator makes no more requests.
func (b *bench) phase(ctx context.Context, name string, do func(context.Context) error) (p phase, err error) {
	b.Progress("%d objects: %s", b.Objects, name)
	ctx, cancel := context.WithTimeoutCause(ctx, b.Patience, fmt.Errorf("%s: not finished within %s", name, b.Patience))
	defer cancel()
	ctx, done := b.operator.Alive(ctx)
	defer done()
	if err := b.answers(ctx); err != nil {
		return p, err
	}
	before, err := b.meter()
	if err != nil {
		return p, err
	}
	counted, err := b.counters()
	if err != nil {
		return p, err
	}
	if err := do(ctx); err != nil {
		return p, errors.Join(err, context.Cause(ctx))
	}
	if p.usage, err = b.used(before); err != nil {
		return p, err
	}
	if err := b.plane.log.Silence(ctx, process.Username()); err != nil {
		return p, err
	}
	now, err := b.counters()
	if err != nil {
		return p, err
	}
	p.counters = now.since(counted)
	return p, b.count(&p, before.at)
}

// count reads the operator's requests since a time from the audit log.
func (b *bench) count(p *phase, since time.Time) error {
	requests, err := b.plane.log.Requests(audit.Filter{User: process.Username(), Since: since})
	if err != nil {
		return err
	}
	p.requests = audit.ByClass(requests, process.Account.Namespace)
	p.took = p.span
	if last := lastChange(p.requests[audit.Write]); !last.IsZero() {
		p.took = last.Sub(since)
	}
	return nil
}

// answers waits until the operator serves its metrics.
func (b *bench) answers(ctx context.Context) error {
	err := b.polling().Until(ctx, func(context.Context) error {
		_, err := b.scrape()
		return err
	})
	// The cause has the last lines of an operator that ended.
	return errors.Join(err, context.Cause(ctx))
}

// polling says how to wait for a condition. The interval bounds the accuracy of a restart's time.
func (b *bench) polling() kubetest.Poll {
	return kubetest.Poll{Interval: 200 * time.Millisecond, Timeout: b.Patience}
}

// pause waits for d. If ctx ends first, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
