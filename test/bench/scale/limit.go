package scale

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/instance/limits"
	"example.com/nginx-operator/test/internal/fleet"
)

// LimitOptions are the settings of Limit.
type LimitOptions struct {
	// Options are those of Run, except that Objects is the number of objects by which the fleet
	// grows in each step.
	Options
	// Memory is the memory limit of the operator's container, in bytes.
	Memory int64
	// Pods reports whether each application has PodsEach pods. Otherwise it has none.
	Pods bool
}

// LimitResult has the results of Limit.
type LimitResult struct {
	options LimitOptions
	steps   []step
	// end is the reason why the operator did not keep up in the last step.
	end string
}

// step has the results of one growth of the fleet, and of the operator that was then restarted.
type step struct {
	// objects is the total number of objects.
	objects int
	create  phase
	restart restart
	// peak is the peak of resident memory in bytes, of both the operator that created the objects
	// and the restarted one.
	peak int64
}

// Limit grows a fleet until one operator does not keep up. The operator does not run in a
// container, so the kernel does not kill it for its memory. It gets the GOMEMLIMIT that it would
// set in a container, and its resident memory is compared with the limit.
func Limit(ctx context.Context, options LimitOptions) (result LimitResult, err error) {
	result.options = options
	b, err := newBench(ctx, options.Options)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	b.memoryLimit = limits.Memory{Limit: options.Memory, Limited: true}.ForGo()
	if err := b.start(); err != nil {
		return result, err
	}
	grow := b.growth(1, fleet.Observed)
	if options.Pods {
		_, stop, err := b.startNodes(ctx, nil)
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, stop()) }()
		grow = b.growth(PodsEach, ready)
	}
	for result.end == "" {
		s, err := b.step(ctx, grow)
		if err != nil {
			return result, err
		}
		result.steps = append(result.steps, s)
		result.end = s.end(options.Memory)
	}
	return result, nil
}

// growth creates the next objects in a new namespace, and waits for them.
func (b *bench) growth(replicas int32, met fleet.Condition) func(context.Context) error {
	return func(ctx context.Context) error {
		name := fmt.Sprintf("%s-%d", namespace, b.made)
		if err := b.plane.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		return b.creation(name, b.Objects, replicas, met)(ctx)
	}
}

// step grows the fleet, and restarts the operator.
func (b *bench) step(ctx context.Context, grow func(context.Context) error) (s step, err error) {
	s.objects = b.made + b.Objects
	if s.create, err = b.phase(ctx, fmt.Sprintf("growth to %d objects", s.objects), grow); err != nil {
		return s, err
	}
	made, err := b.memory()
	if err != nil {
		return s, err
	}
	var found Result
	err = b.restart(ctx, &found)
	s.restart, s.peak = found.restart, max(made.peak, found.restarted.peak)
	return s, err
}

// end returns the reason why the operator does not keep up; empty: it does.
func (s step) end(memory int64) string {
	switch {
	case s.peak > memory:
		return "the kernel would have killed it for its memory"
	case s.restart.settled > settledWithin*time.Second:
		return fmt.Sprintf("it took more than %d s to reconcile every object", settledWithin)
	}
	return ""
}
