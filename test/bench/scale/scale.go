// Package scale measures the operator with many NginxOperators. It runs as a process of this
// machine, with the account and the rights that it has in a cluster, beside a bare control
// plane (kube-apiserver with an audit log, and etcd): no controller manager, no kubelet. What
// is measured is the operator and the API server alone. The phases, one after the other:
//
//	create   all objects, as fast as sixteen clients can create them
//	floor    the same writes by a bare client, on a control plane of its own that is as empty
//	scale    objects from one replica to two, which makes a PodDisruptionBudget, and to three
//	image    another image for objects
//	drift    somebody changes an owned field of some objects, one after the other
//	idle     nothing
//	restart  the operator is killed and started again
//
// Pods measures the same with pods, whose kubelets and instances are stand-ins, and Limit how many
// objects, and pods, one operator keeps up with.
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
	// Objects is how many NginxOperators there are.
	Objects int
	// Window is how long the operator is watched while nothing changes.
	Window time.Duration
	// Patience is how long each phase may take; it is no measure of speed.
	Patience time.Duration
	// Progress tells who waits what is going on.
	Progress func(format string, values ...any)
}

// The namespaces of the objects, and of the one that is there before them.
const (
	namespace       = "scale"
	warmUpNamespace = "scale-warm-up"
)

// Result is what a run found.
type Result struct {
	options Options
	// template is what an application consists of.
	template *bare.Template
	create   phase
	floor    floor
	scale    struct{ toTwo, toThree phase }
	image    phase
	drift    drift
	idle     phase
	restart  restart
	// What the operator has in memory with one object, right after the creation, after the
	// idle time, and after its restart.
	empty, created, settled, restarted memory
}

// Run goes through the phases with many objects and no pods.
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

// create creates the objects, after one that proves that the operator's caches are filled.
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

// creation creates objects of some replicas, and waits for what the operator tells of each.
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

// mostChanged bounds how many objects are changed: more of them take longer and tell the same of
// each.
const mostChanged = 500

// changed is how many objects a change is about. They are spread over all.
func (o Options) changed() int { return min(o.Objects, mostChanged) }

// spread is the name of one of n objects that are spread over all.
func (o Options) spread(i, n int) *v1alpha2.NginxOperator {
	return fleet.Object(namespace, i*o.Objects/n)
}

// scale changes the replicas twice, since an application of several has an object more.
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

// change patches objects, and waits until the operator has told of each.
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

// lastChange is when the last object or status was written. Events only tell of it.
func lastChange(requests []audit.Event) time.Time {
	var last time.Time
	for _, e := range requests {
		if e.Resource() != "events" && e.Done.After(last) {
			last = e.Done
		}
	}
	return last
}
