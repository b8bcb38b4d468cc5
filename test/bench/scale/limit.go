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
	"example.com/nginx-operator/test/standin/kubelet"
)

// LimitOptions are the settings of Limit.
type LimitOptions struct {
	// Options are as of Run, but Objects is by how many the fleet grows in each step.
	Options
	// Memory is what the operator's container may use, in bytes.
	Memory int64
	// Pods tells whether an application has PodsEach pods, or none.
	Pods bool
}

// LimitResult is what Limit found.
type LimitResult struct {
	options LimitOptions
	steps   []step
	// end is why the last step was one too many.
	end string
}

// step is the fleet after it has grown, and an operator that was started on it.
type step struct {
	// objects is how many there are in all.
	objects int
	create  phase
	restart restart
	// peak is the most memory that was resident, of the operator that made the objects and of
	// the one that found them, in bytes.
	peak int64
}

// Limit lets a fleet grow until one operator does not keep up with it. The operator is no
// container, so that nothing ends it for its memory: it is told of the limit as it would tell
// itself of a container's, and what is resident is compared with it.
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
		stop, err := b.startNodes(ctx)
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

// startNodes starts what makes pods of Deployments.
func (b *bench) startNodes(ctx context.Context) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	if _, err := kubelet.Start(ctx, b.plane.Config); err != nil {
		cancel()
		return nil, err
	}
	manager, err := b.plane.StartControllerManager(b.plane.dir, "deployment-controller", "replicaset-controller")
	if err != nil {
		cancel()
		return nil, err
	}
	return func() error {
		defer cancel()
		return manager.Stop()
	}, nil
}

// growth creates as many objects again, in a namespace of their own, and waits for them.
func (b *bench) growth(replicas int32, met fleet.Condition) func(context.Context) error {
	return func(ctx context.Context) error {
		name := fmt.Sprintf("%s-%d", namespace, b.made)
		if err := b.plane.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		return b.creation(name, b.Objects, replicas, met)(ctx)
	}
}

// step lets the fleet grow, and has an operator start on it.
func (b *bench) step(ctx context.Context, grow func(context.Context) error) (s step, err error) {
	s.objects = b.made + b.Objects
	if s.create, err = b.phase(ctx, fmt.Sprintf("more, of %d", s.objects), grow); err != nil {
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

// end tells why an operator does not keep up; empty: it does.
func (s step) end(memory int64) string {
	switch {
	case s.peak > memory:
		return "the kernel would have ended it for its memory"
	case s.restart.settled > settledWithin*time.Second:
		return fmt.Sprintf("it took more than %d s until it had looked at every object", settledWithin)
	}
	return ""
}
