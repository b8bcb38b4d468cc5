package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// crowd are namespaces that one operator looks after side by side, each with one object of a kind.
// They are used again and again: what one case leaves behind is in the way of the next.
type crowd struct {
	*operator
	of *Specimen

	mu      sync.Mutex
	members map[string]*member
	// free were not used yet. settled have an object as a seed says. resting have some object: they are
	// left alone for a while before they are used again.
	free    []*member
	settled map[int][]*member
	resting []*member
	// fixed: there are no others than at first.
	fixed bool
}

// resting is how many namespaces are left alone.
const resting = 40

// newCrowd makes a crowd whose operator does not run yet.
func (s *Stage) newCrowd(name string, of *Specimen) *crowd {
	c := &crowd{operator: s.operator(name, ""), of: of, members: map[string]*member{}, settled: map[int][]*member{}}
	c.guest.OnWrite = func(_ int, r proxy.Request) proxy.Fault {
		m := c.member(r.Namespace)
		if m == nil {
			return proxy.None
		}
		n := m.writes.Add(1)
		m.lastWrite.Store(&r)
		met := proxy.None
		if by := m.mischief.Load(); by != nil {
			met = by.onWrite(n)
		}
		m.noteFault(met)
		return met
	}
	c.guest.OnEvent = func(e proxy.Event) proxy.Delivery {
		if m := c.member(e.Namespace); m != nil {
			if by := m.mischief.Load(); by != nil {
				met := by.onEvent()
				if met != proxy.Deliver {
					m.blinded.Store(true)
				}
				return met
			}
		}
		return proxy.Deliver
	}
	return c
}

// fix makes all namespaces now. An operator that is told of them watches each by itself, so that what
// befalls a watch befalls one namespace.
func (c *crowd) fix(ctx context.Context, namespaces int) error {
	c.fixed = true
	for range namespaces {
		m, err := c.found(ctx)
		if err != nil {
			return err
		}
		c.free = append(c.free, m)
	}
	c.namespaces = strings.Join(slices.Sorted(maps.Keys(c.members)), ",")
	return nil
}

// end deletes all objects, and ends the operator and the pods.
func (c *crowd) end(ctx context.Context) error {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.abandon(ctx), c.Pods.Forget(m.namespace))
	}
	c.halt()
	return errors.Join(errs...)
}

func (c *crowd) member(namespace string) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[namespace]
}

// take takes a namespace that is as a seed says; nil: there is none.
func (c *crowd) take(seed int) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := c.settled[seed]
	if len(free) == 0 {
		return nil
	}
	c.settled[seed] = free[:len(free)-1]
	return free[len(free)-1]
}

// used takes a namespace that was made before: one that is new, or that was left alone for the longest
// time, if there are enough; nil: there is none.
func (c *crowd) used() *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := &c.resting
	switch {
	case len(c.free) > 0:
		from = &c.free
	case len(c.resting) == 0, !c.fixed && len(c.resting) < resting:
		return nil
	}
	m := (*from)[0]
	*from = (*from)[1:]
	return m
}

// leave gives a namespace back that is as a seed says.
func (m *member) leave(seed int) {
	m.rested, m.restedAs = m.writes.Load(), nil
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled[seed] = append(m.settled[seed], m)
}

// rest gives a namespace back, in which there is nothing to do. Where an object is not ready, the
// operator may try again and again: there, it is deleted, and whoever has not heard of that yet may write
// once more.
func (m *member) rest(ctx context.Context, s *state) error {
	m.restedAs = &s.picture
	if !s.ready {
		m.restedAs = nil
		if err := m.clear(ctx); err != nil {
			return err
		}
		if err := m.await(ctx, m.silence().lasts); err != nil {
			return err
		}
	}
	m.rested = m.writes.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resting = append(m.resting, m)
	return nil
}

// undisturbed makes sure that nothing was written while it was left alone, whatever befell the
// operator in other namespaces.
func (m *member) undisturbed(ctx context.Context) error {
	n := m.writes.Load() - m.rested
	if n == 0 {
		return nil
	}
	err := fmt.Errorf("there was nothing to do after %s, and it wrote %d times in %s: %s", m.by, n, m.namespace, m.lastWrite.Load())
	if m.restedAs == nil {
		return err
	}
	now, lost := m.picture(ctx)
	return errors.Join(err, lost, same(*m.restedAs, now, snapshot.Mask{}))
}

// vacant is a namespace without an object, but with what objects refer to.
func (c *crowd) vacant(ctx context.Context, by string) (m *member, err error) {
	if m = c.used(); m != nil {
		err = errors.Join(m.undisturbed(ctx), m.clear(ctx))
	} else if c.fixed {
		return nil, errCrowded
	} else {
		m, err = c.found(ctx)
	}
	if err == nil {
		m.by = by
	}
	return m, err
}

// errCrowded tells that there is no namespace left.
var errCrowded = errors.New("no namespace is left: cases that failed have not given theirs back")

// found makes a namespace.
func (c *crowd) found(ctx context.Context) (*member, error) {
	namespace, err := c.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	m := &member{crowd: c, namespace: namespace}
	c.mu.Lock()
	c.members[namespace] = m
	c.mu.Unlock()
	for _, manifest := range c.of.Given {
		if err := m.give(ctx, manifest); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// give creates something that objects refer to. What belongs to no namespace is there after the first
// time.
func (m *member) give(ctx context.Context, manifest map[string]any) error {
	filled, err := m.fill(ctx, m.namespace, manifest)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: filled}
	r, err := m.resource(m.namespace, object.GetKind(), object.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	_, err = r.Create(ctx, object, metav1.CreateOptions{FieldManager: "user"})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// seeded is a namespace with an object as a seed says, and settled.
func (c *crowd) seeded(ctx context.Context, seed int) (*member, error) {
	if m := c.take(seed); m != nil {
		if c.of.Unready[seed] != "" {
			return m, nil
		}
		return m, m.undisturbed(ctx)
	}
	m, err := c.vacant(ctx, seedName(seed))
	if err != nil {
		return nil, err
	}
	return m, errors.Join(m.put(ctx, c.of.Seeds[seed]), m.settle(ctx))
}

// calmDown makes sure that nothing is written where there is nothing to do: not after everything was listed
// anew, and not after a restart.
func (c *crowd) calmDown(ctx context.Context) error {
	for seed := range c.of.Unready {
		for _, m := range c.settled[seed] {
			if err := m.clear(ctx); err != nil {
				return err
			}
		}
	}
	for _, next := range []func() error{func() error { c.guest.Expire(); return nil }, c.restart} {
		if err := c.calm(ctx); err != nil {
			return err
		}
		before := len(c.guest.Writes())
		if err := next(); err != nil {
			return err
		}
		if err := c.await(ctx, func(context.Context) error { return c.guest.Listed() }); err != nil {
			return err
		}
		if err := c.calm(ctx); err != nil {
			return err
		}
		if writes := c.guest.Writes()[before:]; len(writes) > 0 {
			return c.restless(ctx, writes)
		}
	}
	return nil
}

// calm waits until nothing is written anywhere.
func (c *crowd) calm(ctx context.Context) error {
	before, since := -1, time.Now()
	return c.await(ctx, func(context.Context) error {
		if now := len(c.guest.Writes()); now != before || c.guest.Behind("") != nil {
			before, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return errUnsettled
		}
		return nil
	})
}

// restless tells what is written where there is nothing to do, and of which object.
func (c *crowd) restless(ctx context.Context, writes []proxy.Request) error {
	m := c.member(writes[len(writes)-1].Namespace)
	if m == nil {
		return fmt.Errorf("there is nothing to do, and it writes elsewhere: %s", last(writes, 5))
	}
	object, err := m.object(ctx)
	if err != nil || object == nil {
		return errors.Join(fmt.Errorf("after %s, it writes: %s", m.by, last(writes, 5)), err)
	}
	spec, err := json.Marshal(object.Object["spec"])
	return errors.Join(fmt.Errorf("there is nothing to do in %s after %s, and it writes: %s\n%s\n%s", m.namespace, m.by, last(writes, 5), spec, c.said()), err)
}
