package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// pooledNamespace is a namespace of a pool.
type pooledNamespace struct {
	*namespacePool
	namespace string
	// by is the name of the case that uses the namespace, or used it last.
	by string
	// writes counts the operator's writes; lastWrite is the last one.
	writes    atomic.Int64
	lastWrite atomic.Pointer[proxy.Request]
	// failed is the time of the last write in Unix nanoseconds if it met a fault, and 0 if it met
	// none.
	failed atomic.Int64
	// blinded reports whether, since the operator last settled, there was an event that it may have
	// missed.
	blinded atomic.Bool
	// rested is the number of writes when the last case left the namespace, and restedAs the
	// picture of that moment; nil: it is not known.
	rested   int64
	restedAs *snapshot.Picture
	// fault is the fault that is injected; nil: none.
	fault atomic.Pointer[fault]
}

// fault decides what happens to the writes and events of a namespace.
type fault struct {
	onWrite func(n int64) proxy.Fault
	onEvent func() proxy.Delivery
}

// object returns the namespace's object; nil: there is none.
func (m *pooledNamespace) object(ctx context.Context) (*unstructured.Unstructured, error) {
	return m.get(ctx, m.namespace, m.of.Object)
}

// put creates the object with a spec, or updates its whole spec.
func (m *pooledNamespace) put(ctx context.Context, spec map[string]any, dryRun ...string) error {
	r, err := m.resource(m.namespace, m.of.Object.Kind, m.of.Object.Version)
	if err != nil {
		return err
	}
	return m.await(ctx, func(ctx context.Context) error {
		object, err := m.object(ctx)
		if err != nil {
			return err
		}
		if object == nil {
			object = &unstructured.Unstructured{Object: map[string]any{}}
			object.SetName(m.of.Object.Name)
			kind, err := m.kind(m.of.Object.Kind, m.of.Object.Version)
			if err != nil {
				return err
			}
			object.SetGroupVersionKind(kind)
			object.Object["spec"] = spec
			_, err = r.Create(ctx, object, metav1.CreateOptions{FieldManager: "user", DryRun: dryRun})
			return err
		}
		object.Object["spec"] = spec
		_, err = r.Update(ctx, object, metav1.UpdateOptions{FieldManager: "user", DryRun: dryRun})
		return err
	})
}

// settle waits until the operator has observed the object's generation, and has written nothing for
// a while.
func (m *pooledNamespace) settle(ctx context.Context) error {
	silence := m.silence()
	return m.awaitFor(ctx, m.Patience+longestBackOff, func(ctx context.Context) error {
		object, err := m.object(ctx)
		if err != nil {
			return err
		}
		seen, _, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		if err != nil || seen != object.GetGeneration() {
			return fmt.Errorf("generation %d was observed, but %d is the newest: %w", seen, object.GetGeneration(), errors.Join(err, errUnsettled))
		}
		return silence.lasts(ctx)
	})
}

// silence measures how long the operator has written nothing.
type silence struct {
	in     *pooledNamespace
	writes int64
	since  time.Time
	// enough is how long it has to last.
	enough time.Duration
}

func (m *pooledNamespace) silence() *silence {
	return &silence{in: m, writes: -1, since: time.Now(), enough: quiet}
}

// lasts returns an error if the silence has not lasted long enough yet.
func (s *silence) lasts(context.Context) error {
	if s.in.blinded.Swap(false) {
		s.enough = longestDoubt
	}
	if now := s.in.writes.Load(); now != s.writes || s.in.client.Behind(s.in.namespace) != nil {
		s.writes, s.since = now, time.Now()
	}
	if time.Since(s.since) < s.enough || s.in.backsOff() {
		return fmt.Errorf("the last write was %s: %w", s.in.lastWrite.Load(), errUnsettled)
	}
	return nil
}

// longestBackOff bounds the time until the operator retries a failed write.
const longestBackOff = time.Minute

// longestDoubt bounds the time that an operator waits for the event of its own write. The event may
// never come: the object may be deleted in the meantime, with the watch started again after that.
// It is also enough for an operator on a busy machine, where nothing may happen for a second.
const longestDoubt = 6 * time.Second

// backsOff reports whether the operator may be backing off after a fault.
func (m *pooledNamespace) backsOff() bool {
	failed := m.failed.Load()
	return failed != 0 && time.Since(time.Unix(0, failed)) < longestBackOff
}

// noteFault records the fault of the last write. A killed operator starts again without backing
// off.
func (m *pooledNamespace) noteFault(met proxy.Fault) {
	if met == proxy.None || met.Kills() {
		m.failed.Store(0)
		return
	}
	m.failed.Store(time.Now().UnixNano())
}

// errUnsettled means that the operator has not settled.
var errUnsettled = errors.New("the operator has not settled")

// state is the state of an object when the operator has settled.
type state struct {
	object  *unstructured.Unstructured
	picture snapshot.Picture
	// ready is the object's readiness. reason and why are the reason and the message of the condition.
	ready       bool
	reason, why string
}

// held reports whether the user of the object holds back what is declared.
func (s *state) held(of *Fixture) bool { return !s.ready && of.held.MatchString(s.reason) }

// hope is how often the operator must be found settled, with nothing changed, until an object that
// is not ready counts as never becoming ready. Each time takes twice as long as quiet.
const hope = 3

// state waits until the operator has settled, and either the object is ready or nothing changes any
// more.
func (m *pooledNamespace) state(ctx context.Context) (s *state, err error) {
	var before *state
	for unchanged := 0; unchanged < hope; unchanged++ {
		if before != nil {
			if err := pause(ctx, quiet); err != nil {
				return nil, err
			}
		}
		if err := m.settle(ctx); err != nil {
			return nil, err
		}
		if s, err = m.currentState(ctx); err != nil || s.ready {
			return s, err
		}
		if before == nil || same(before.picture, s.picture, snapshot.Mask{}) != nil {
			before, unchanged = s, 0
		}
	}
	return s, nil
}

// currentState returns the current state.
func (m *pooledNamespace) currentState(ctx context.Context) (*state, error) {
	// Read the object first: a picture from before it became ready may show less.
	object, err := m.object(ctx)
	if err != nil {
		return nil, err
	}
	picture, err := m.picture(ctx)
	if err != nil {
		return nil, err
	}
	s := &state{object: object, picture: picture}
	s.ready, s.reason, s.why = ready(object)
	return s, nil
}

// ready returns an object's readiness, with the reason and the message of the condition.
func ready(object *unstructured.Unstructured) (is bool, reason, message string) {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return false, "", ""
	}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True", fmt.Sprint(condition["reason"]), fmt.Sprint(condition["message"])
		}
	}
	return false, "", ""
}

// picture takes a picture of the namespace.
func (m *pooledNamespace) picture(ctx context.Context) (snapshot.Picture, error) {
	return m.taker.Take(ctx, m.namespace)
}

// awaitPicture waits until the namespace matches a picture.
func (m *pooledNamespace) awaitPicture(ctx context.Context, like snapshot.Picture, mask snapshot.Mask) error {
	return m.await(ctx, func(ctx context.Context) error {
		now, err := m.picture(ctx)
		if err != nil {
			return err
		}
		return same(like, now, mask)
	})
}

func same(want, got snapshot.Picture, mask snapshot.Mask) error {
	if found := snapshot.Differences(want, got, mask); len(found) > 0 {
		return fmt.Errorf("%w: %s", errAnother, strings.Join(found[:min(len(found), 5)], "; "))
	}
	return nil
}

// errAnother means that the end differs from the expected one.
var errAnother = errors.New("the end differs")

// clear deletes the object, and waits until everything that belongs to it is gone.
func (m *pooledNamespace) clear(ctx context.Context) error {
	r, err := m.resource(m.namespace, m.of.Object.Kind, m.of.Object.Version)
	if err != nil {
		return err
	}
	if err := r.Delete(ctx, m.of.Object.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return m.await(ctx, func(ctx context.Context) error {
		left, err := m.picture(ctx)
		if err != nil {
			return err
		}
		for _, given := range m.of.Given {
			object := unstructured.Unstructured{Object: given}
			delete(left.Objects, object.GetKind()+"/"+object.GetName())
		}
		if len(left.Objects) > 0 {
			return fmt.Errorf("after the object was deleted, these remain: %s", left.Names())
		}
		return nil
	})
}

// abandon deletes the object of a namespace that is not used again.
func (m *pooledNamespace) abandon(ctx context.Context) error {
	r, err := m.resource(m.namespace, m.of.Object.Kind, m.of.Object.Version)
	if err != nil {
		return err
	}
	m.fault.Store(nil)
	if err := r.Delete(context.WithoutCancel(ctx), m.of.Object.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
