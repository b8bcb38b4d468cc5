package suite

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

// namespacePool is a set of namespaces that one operator manages, each with one object of a kind.
// Namespaces are reused, so that what one case leaves behind gets in the way of the next.
type namespacePool struct {
	*operator
	of *Fixture

	mu      sync.Mutex
	members map[string]*pooledNamespace
	// free namespaces were not used yet. settled ones, by seed, have an object with the spec of the
	// seed. resting ones have some object, and are not touched for a while before they are reused.
	free    []*pooledNamespace
	settled map[int][]*pooledNamespace
	resting []*pooledNamespace
	// fixed reports whether no further namespaces may be created.
	fixed bool
}

// minRestingNamespaces is the minimum number of namespaces that are not touched for a while.
const minRestingNamespaces = 40

// newNamespacePool creates a pool whose operator does not run yet.
func (s *Stage) newNamespacePool(name string, of *Fixture) *namespacePool {
	c := &namespacePool{operator: s.operator(name, ""), of: of, members: map[string]*pooledNamespace{}, settled: map[int][]*pooledNamespace{}}
	c.client.OnWrite = func(_ int, r proxy.Request) proxy.Fault {
		m := c.member(r.Namespace)
		if m == nil {
			return proxy.None
		}
		n := m.writes.Add(1)
		m.lastWrite.Store(&r)
		met := proxy.None
		if by := m.fault.Load(); by != nil {
			met = by.onWrite(n)
		}
		m.noteFault(met)
		return met
	}
	c.client.OnEvent = func(e proxy.Event) proxy.Delivery {
		if m := c.member(e.Namespace); m != nil {
			if by := m.fault.Load(); by != nil {
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

// fix creates all namespaces now. An operator with a list of namespaces watches each one
// separately, so that a fault of a watch affects only one namespace.
func (c *namespacePool) fix(ctx context.Context, namespaces int) error {
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
func (c *namespacePool) end(ctx context.Context) error {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.abandon(ctx), c.Pods.Forget(m.namespace))
	}
	c.halt()
	return errors.Join(errs...)
}

func (c *namespacePool) member(namespace string) *pooledNamespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[namespace]
}

// take takes a namespace with the spec of a seed; nil: there is none.
func (c *namespacePool) take(seed int) *pooledNamespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := c.settled[seed]
	if len(free) == 0 {
		return nil
	}
	c.settled[seed] = free[:len(free)-1]
	return free[len(free)-1]
}

// used takes a namespace that already exists: an unused one, or the one that has rested for the
// longest time, if enough are resting; nil: there is none.
func (c *namespacePool) used() *pooledNamespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := &c.resting
	switch {
	case len(c.free) > 0:
		from = &c.free
	case len(c.resting) == 0, !c.fixed && len(c.resting) < minRestingNamespaces:
		return nil
	}
	m := (*from)[0]
	*from = (*from)[1:]
	return m
}

// leave returns a namespace with the spec of a seed to the pool.
func (m *pooledNamespace) leave(seed int) {
	m.rested, m.restedAs = m.writes.Load(), nil
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled[seed] = append(m.settled[seed], m)
}

// rest returns a namespace in which there is nothing to do to the pool. The operator may retry an
// object that is not ready forever, so rest deletes such an object. It then waits for silence,
// because the operator may write once more until it has observed the deletion.
func (m *pooledNamespace) rest(ctx context.Context, s *state) error {
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

// undisturbed checks that the operator wrote nothing while the namespace was quiet, whatever happened
// in other namespaces.
func (m *pooledNamespace) undisturbed(ctx context.Context) error {
	n := m.writes.Load() - m.rested
	if n == 0 {
		return nil
	}
	err := fmt.Errorf("there was nothing to do after %s, but the operator wrote %d times in %s: %s", m.by, n, m.namespace, m.lastWrite.Load())
	if m.restedAs == nil {
		return err
	}
	now, lost := m.picture(ctx)
	return errors.Join(err, lost, same(*m.restedAs, now, snapshot.Mask{}))
}

// vacant returns a namespace without the object, but with the objects that it refers to.
func (c *namespacePool) vacant(ctx context.Context, by string) (m *pooledNamespace, err error) {
	if m = c.used(); m != nil {
		err = errors.Join(m.undisturbed(ctx), m.clear(ctx))
	} else if c.fixed {
		return nil, errPoolExhausted
	} else {
		m, err = c.found(ctx)
	}
	if err == nil {
		m.by = by
	}
	return m, err
}

// errPoolExhausted means that there is no namespace left.
var errPoolExhausted = errors.New("no namespace is left: failed cases have not returned theirs")

// found creates a namespace.
func (c *namespacePool) found(ctx context.Context) (*pooledNamespace, error) {
	namespace, err := c.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	m := &pooledNamespace{namespacePool: c, namespace: namespace}
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

// give creates an object that the fixture refers to. A cluster-scoped one already exists after the
// first time.
func (m *pooledNamespace) give(ctx context.Context, manifest map[string]any) error {
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

// seeded returns a settled namespace with the spec of a seed.
func (c *namespacePool) seeded(ctx context.Context, seed int) (*pooledNamespace, error) {
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

// calmDown checks that the operator writes nothing while there is nothing to do, even after it
// lists everything again and after a restart.
func (c *namespacePool) calmDown(ctx context.Context) error {
	for seed := range c.of.Unready {
		for _, m := range c.settled[seed] {
			if err := m.clear(ctx); err != nil {
				return err
			}
		}
	}
	for _, next := range []func() error{func() error { c.client.Expire(); return nil }, c.restart} {
		if err := c.calm(ctx); err != nil {
			return err
		}
		before := len(c.client.Writes())
		if err := next(); err != nil {
			return err
		}
		if err := c.await(ctx, func(context.Context) error { return c.client.Listed() }); err != nil {
			return err
		}
		if err := c.calm(ctx); err != nil {
			return err
		}
		if writes := c.client.Writes()[before:]; len(writes) > 0 {
			return c.unsettled(ctx, writes)
		}
	}
	return nil
}

// calm waits until nothing is written in any namespace.
func (c *namespacePool) calm(ctx context.Context) error {
	before, since := -1, time.Now()
	return c.await(ctx, func(context.Context) error {
		if now := len(c.client.Writes()); now != before || c.client.Behind("") != nil {
			before, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return errUnsettled
		}
		return nil
	})
}

// unsettled returns an error that describes the writes in a namespace in which there is nothing to
// do.
func (c *namespacePool) unsettled(ctx context.Context, writes []proxy.Request) error {
	m := c.member(writes[len(writes)-1].Namespace)
	if m == nil {
		return fmt.Errorf("there is nothing to do, but the operator writes elsewhere: %s", last(writes, 5))
	}
	object, err := m.object(ctx)
	if err != nil || object == nil {
		return errors.Join(fmt.Errorf("after %s, the operator writes: %s", m.by, last(writes, 5)), err)
	}
	spec, err := json.Marshal(object.Object["spec"])
	return errors.Join(fmt.Errorf("there is nothing to do in %s after %s, but the operator writes: %s\n%s\n%s", m.namespace, m.by, last(writes, 5), spec, c.said()), err)
}
