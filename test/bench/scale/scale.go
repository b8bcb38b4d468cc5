// Package scale measures the operator with many NginxOperators. It runs the operator as a process on
// this machine, with the same account and permissions as in a cluster, and with a bare control plane:
// kube-apiserver with an audit log, and etcd. There is no controller manager and no kubelet, so that only
// the operator and the API server are measured. The phases run in this order:
//
//	create   all objects are created, as fast as sixteen clients can
//	floor    a bare client makes the same writes, on another control plane that is as empty
//	scale    objects get two replicas, which adds a PodDisruptionBudget, and then three
//	image    objects get another image
//	drift    another client changes an owned field of some objects, one after the other
//	idle     nothing changes
//	restart  the operator is killed and restarted
//
// Pods measures the same with pods, whose kubelets and instances are stand-ins. Limit measures with how
// many objects, and pods, one operator keeps up. Changes measures changes of configurations, of many applications and of
// one with many pods.
package scale

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/bare"
	"example.com/nginx-operator/test/internal/fleet"
)

// Options are the settings of a run.
type Options struct {
	// Objects is the number of NginxOperators.
	Objects int
	// Window is how long the idle operator is watched.
	Window time.Duration
	// Patience bounds the time of each phase; it does not measure speed.
	Patience time.Duration
	// Progress reports progress.
	Progress func(format string, values ...any)
}

// The namespaces of the objects, and of the one that is created before them.
const (
	namespace       = "scale"
	warmUpNamespace = "scale-warm-up"
)

// Result has the results of a run.
type Result struct {
	options Options
	// template has the objects of an application.
	template *bare.Template
	create   phase
	floor    floor
	scale    struct{ toTwo, toThree phase }
	image    phase
	drift    drift
	idle     phase
	restart  restart
	// The operator's memory with one object, after the creation, after the idle time, and after its
	// restart.
	empty, created, settled, restarted memory
}

// Run runs the phases with many objects and no pods.
func Run(ctx context.Context, options Options) (result Result, err error) {
	b, err := newBench(ctx, options)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	result.options = options
	for _, step := range []func(context.Context, *Result) error{
		b.create, b.runFloor, b.scale, b.image, b.drift, b.idle, b.restart,
	} {
		if err := step(ctx, &result); err != nil {
			return result, err
		}
	}
	return result, nil
}

// create creates the objects. It first creates a single one, to make sure that the operator's
// caches are filled.
func (b *bench) create(ctx context.Context, result *Result) error {
	if err := b.start(); err != nil {
		return err
	}
	if _, err := b.phase(ctx, "warm up", b.creation(warmUpNamespace, 1, 1, fleet.Observed)); err != nil {
		return err
	}
	var err error
	if result.empty, err = b.memory(); err != nil {
		return err
	}
	if result.create, err = b.phase(ctx, "create", b.creation(namespace, b.Objects, 1, fleet.Observed)); err != nil {
		return err
	}
	if result.created, err = b.memory(); err != nil {
		return err
	}
	sample := fleet.Object(namespace, 0)
	if err := b.plane.Client.Get(ctx, client.ObjectKeyFromObject(sample), sample); err != nil {
		return err
	}
	if result.template, err = bare.NewTemplate(namespace, sample.Status); err != nil {
		return err
	}
	return b.check(ctx, result.template)
}

// creation creates objects with the given replicas, and waits until the status of each meets a
// condition.
func (b *bench) creation(namespace string, n int, replicas int32, met fleet.Condition) func(context.Context) error {
	return func(ctx context.Context) error {
		b.made += n
		err := fleet.Each(ctx, n, func(i int) error {
			nginx := fleet.Object(namespace, i)
			nginx.Spec.Replicas = &replicas
			return b.plane.Client.Create(ctx, nginx)
		})
		if err != nil {
			return err
		}
		return fleet.Await(ctx, b.plane.watching, namespace, n, met)
	}
}

// mostChanged bounds the number of objects that are changed. More of them would take longer and
// give the same result per object.
const mostChanged = 500

// changed returns the number of objects that a change affects. They are spread evenly.
func (o Options) changed() int { return min(o.Objects, mostChanged) }

// spread returns the i-th of n objects that are spread evenly.
func (o Options) spread(i, n int) *v1alpha2.NginxOperator {
	return fleet.Object(namespace, i*o.Objects/n)
}

// scale changes the replicas twice, because an application with several replicas has an additional
// object.
func (b *bench) scale(ctx context.Context, result *Result) (err error) {
	if result.scale.toTwo, err = b.phase(ctx, "scale to 2", b.change(func(int) string { return `{"spec":{"replicas":2}}` })); err != nil {
		return err
	}
	result.scale.toThree, err = b.phase(ctx, "scale to 3", b.change(func(int) string { return `{"spec":{"replicas":3}}` }))
	return err
}

func (b *bench) image(ctx context.Context, result *Result) (err error) {
	result.image, err = b.phase(ctx, "another image", b.change(func(i int) string {
		return fmt.Sprintf(`{"spec":{"image":"nginx:measure-%d"}}`, i%10)
	}))
	return err
}

// change patches objects, and waits until the operator has observed all of them.
func (b *bench) change(patch func(i int) string) func(context.Context) error {
	return func(ctx context.Context) error {
		n := b.changed()
		err := fleet.Each(ctx, n, func(i int) error {
			return b.plane.Client.Patch(ctx, b.spread(i, n), merge(patch(i)))
		})
		if err != nil {
			return err
		}
		return fleet.Await(ctx, b.plane.watching, namespace, b.Objects, fleet.Observed)
	}
}

// idle watches the operator while nothing changes.
func (b *bench) idle(ctx context.Context, result *Result) (err error) {
	result.idle, err = b.phase(ctx, fmt.Sprintf("idle for %s", b.Window), func(ctx context.Context) error { return pause(ctx, b.Window) })
	if err != nil {
		return err
	}
	result.settled, err = b.memory()
	return err
}

// lastChange returns the time of the last write of an object or status. Events only report changes.
func lastChange(requests []audit.Event) time.Time {
	var last time.Time
	for _, e := range requests {
		if e.Resource() != "events" && e.Done.After(last) {
			last = e.Done
		}
	}
	return last
}
