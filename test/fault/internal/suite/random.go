package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// walk is a random case, drawn from its number: what a user does, in which order and how fast, and
// what happens to the operator in the meantime.
type walk struct {
	of     *study
	number uint64
	draw   *rand.Rand
	member *pooledNamespace
	// spec is the last accepted spec, and trail the steps to it.
	spec  map[string]any
	trail []string
	// faultOf counts the faults.
	faultOf atomic.Int64
}

// mostSteps bounds the number of steps.
const mostSteps = 6

// randomCases returns the cases with the numbers 1 to n.
func (p *study) randomCases(n int) []Case {
	var all []Case
	for number := range uint64(n) {
		all = append(all, p.randomCase(number+1))
	}
	return all
}

func (p *study) randomCase(number uint64) Case {
	return Case{
		Kind: "random", Journey: "walk", Point: strconv.FormatUint(number, 10),
		run: func(ctx context.Context, _ *Stage, _ *Golden) (bool, error) {
			w := &walk{of: p, number: number, draw: rand.New(rand.NewPCG(number, 0))}
			err := w.run(ctx)
			return w.faultOf.Load() > 0, err
		},
	}
}

// run takes some steps under faults, and checks that the end is the same as that of an object
// created with the last spec.
func (w *walk) run(ctx context.Context) (err error) {
	seed := w.of.walkSeeds[w.draw.IntN(len(w.of.walkSeeds))]
	if w.member, err = w.of.pool.vacant(ctx, w.name()); err != nil {
		return err
	}
	var end *state
	defer func() {
		w.member.fault.Store(nil)
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", strings.Join(w.trail, ", "), err), w.member.abandon(ctx))
		} else {
			err = w.member.rest(ctx, end)
		}
	}()
	w.member.fault.Store(w.drawFault())
	if err := w.change(ctx, seedName(seed), w.of.of.Seeds[seed]); err != nil {
		return err
	}
	for range w.draw.IntN(mostSteps) {
		if err := w.step(ctx, seed); err != nil {
			return err
		}
	}
	w.member.fault.Store(nil)
	end, err = w.member.state(ctx)
	if err != nil {
		return err
	}
	if err := w.of.pool.twin(ctx, w.name(), w.spec, end, w.of.goldens[seed].Mask); err != nil {
		return errors.Join(err, w.since(ctx, end))
	}
	return nil
}

// since returns an error if anything has changed since the end.
func (w *walk) since(ctx context.Context, end *state) error {
	now, err := w.member.picture(ctx)
	if err != nil {
		return err
	}
	if err := same(end.picture, now, snapshot.Mask{}); err != nil {
		return fmt.Errorf("the compared objects have changed since: %w", err)
	}
	return nil
}

// name returns the name of the case.
func (w *walk) name() string { return fmt.Sprintf("random/walk/%d", w.number) }

// step takes a random step.
func (w *walk) step(ctx context.Context, seed int) error {
	switch w.draw.IntN(10) {
	case 0:
		return w.again(ctx)
	case 1:
		return w.interfere(ctx)
	case 2:
		return w.change(ctx, seedName(seed), w.of.of.Seeds[seed])
	}
	for {
		// An operation may have no place in this spec.
		o := w.of.steps[w.draw.IntN(len(w.of.steps))]
		if changed, ok := o.Apply(w.spec); ok {
			return w.change(ctx, o.Name(), changed)
		}
	}
}

// change changes the spec, and waits for a random time. If the API server refuses the spec, nothing
// changes.
func (w *walk) change(ctx context.Context, by string, spec map[string]any) error {
	err := w.member.put(ctx, spec)
	if refused(err) {
		return nil
	}
	if err != nil {
		return err
	}
	w.spec, w.trail = spec, append(w.trail, by)
	return w.wait(ctx)
}

// wait waits until the operator has settled, for a shorter time, or not at all. The operator may
// not settle while each of its writes meets a fault. Whether it settles without faults is checked
// at the end.
func (w *walk) wait(ctx context.Context) error {
	switch w.draw.IntN(3) {
	case 0:
		if err := w.member.settle(ctx); !errors.Is(err, errUnsettled) {
			return err
		}
	case 1:
		return pause(ctx, time.Duration(w.draw.IntN(500))*time.Millisecond)
	}
	return nil
}

// again deletes the object, and immediately recreates it.
func (w *walk) again(ctx context.Context) error {
	r, err := w.member.resource(w.member.namespace, w.of.of.Object.Kind, w.of.of.Object.Version)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	if err := r.Delete(ctx, w.of.of.Object.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		return err
	}
	return w.change(ctx, "recreated", w.spec)
}

// interfere deletes one of the objects that the operator has created.
func (w *walk) interfere(ctx context.Context) error {
	kinds := w.of.of.Owned
	if len(kinds) == 0 {
		return nil
	}
	kind := kinds[w.draw.IntN(len(kinds))]
	r, err := w.member.resource(w.member.namespace, kind, "")
	if err != nil {
		return err
	}
	list, err := r.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, object := range list.Items {
		if len(object.GetOwnerReferences()) > 0 {
			if err := r.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			w.trail = append(w.trail, kind+" deleted")
			// A busy operator may not have observed this event yet.
			w.member.blinded.Store(true)
			break
		}
	}
	return w.wait(ctx)
}

// drawFault draws what happens to the writes and events of the namespace. It depends only on their
// numbers, so that a replay repeats it.
func (w *walk) drawFault() *fault {
	often := []int{0, 5, 15, 30}[w.draw.IntN(4)]
	luck := func(sort, n uint64) *rand.Rand { return rand.New(rand.NewPCG(w.number, sort<<32|n)) }
	before, events := w.member.writes.Load(), atomic.Uint64{}
	return &fault{
		onWrite: func(n int64) proxy.Fault {
			draw := luck(1, uint64(n-before))
			if draw.IntN(100) >= often {
				return proxy.None
			}
			w.faultOf.Add(1)
			return wildFaults[draw.IntN(len(wildFaults))]
		},
		onEvent: func() proxy.Delivery {
			draw := luck(2, events.Add(1))
			if draw.IntN(1000) >= often {
				return proxy.Deliver
			}
			w.faultOf.Add(1)
			return wildDeliveries[draw.IntN(len(wildDeliveries))]
		},
	}
}

// wildFaults are the faults to draw from. Kills are rarer than the others, because a kill of the
// operator affects all namespaces.
var wildFaults = slices.Concat(
	slices.Repeat([]proxy.Fault{proxy.Cut, proxy.Drop, proxy.Conflict, proxy.TooMany, proxy.Internal, proxy.Quota, proxy.Timeout}, 20),
	[]proxy.Fault{proxy.KillBefore, proxy.KillAfter},
)

var wildDeliveries = proxy.Deliveries()
