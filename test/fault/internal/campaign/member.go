package campaign

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

// member is a namespace of a crowd.
type member struct {
	*crowd
	namespace string
	// by is the case that uses it, or has used it last.
	by string
	// writes counts those of the operator, the last one at lastWrite.
	writes    atomic.Int64
	lastWrite atomic.Pointer[proxy.Request]
	// failed is when the last write met a fault, as Unix time in ns; 0: it met none.
	failed atomic.Int64
	// blinded: there was an event since it had settled last that the operator may not have seen.
	blinded atomic.Bool
	// rested are the writes when it was left, restedAs is what there was then; nil: it is not known.
	rested   int64
	restedAs *snapshot.Picture
	// mischief is what happens to it; nil: nothing.
	mischief atomic.Pointer[mischief]
}

// mischief decides what happens to the writes and events of a namespace.
type mischief struct {
	onWrite func(n int64) proxy.Fault
	onEvent func() proxy.Delivery
}

// object is that of the namespace; nil: there is none.
func (m *member) object(ctx context.Context) (*unstructured.Unstructured, error) {
	return m.get(ctx, m.namespace, m.of.Object)
}

// put makes the object what a spec says: it is created, or updated as a whole.
func (m *member) put(ctx context.Context, spec map[string]any, dryRun ...string) error {
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

// settle waits until the operator has seen the object as it is, and has written nothing for a while.
func (m *member) settle(ctx context.Context) error {
	silence := m.silence()
	return m.awaitFor(ctx, m.Patience+longestBackOff, func(ctx context.Context) error {
		object, err := m.object(ctx)
		if err != nil {
			return err
		}
		seen, _, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		if err != nil || seen != object.GetGeneration() {
			return fmt.Errorf("generation %d was seen, %d is the newest: %w", seen, object.GetGeneration(), errors.Join(err, errUnsettled))
		}
		return silence.lasts(ctx)
	})
}

// silence is how long the operator has written nothing.
type silence struct {
	in     *member
	writes int64
	since  time.Time
	// enough is how long it has to last.
	enough time.Duration
}

func (m *member) silence() *silence {
	return &silence{in: m, writes: -1, since: time.Now(), enough: quiet}
}

// lasts tells what has broken it, if it does not last long enough yet.
func (s *silence) lasts(context.Context) error {
	if s.in.blinded.Swap(false) {
		s.enough = longestDoubt
	}
	if now := s.in.writes.Load(); now != s.writes || s.in.guest.Behind(s.in.namespace) != nil {
		s.writes, s.since = now, time.Now()
	}
	if time.Since(s.since) < s.enough || s.in.backsOff() {
		return fmt.Errorf("the last write was %s: %w", s.in.lastWrite.Load(), errUnsettled)
	}
	return nil
}

// longestBackOff is how long an operator may wait after a write that failed before it tries again.
const longestBackOff = time.Minute

// longestDoubt is how long an operator may wait that has written something and was not told of it: it may
// never be, if that was deleted since, and it has begun to watch anew. So long may one take, too, that has a busy
// machine: for a second, nothing may happen at all.
const longestDoubt = 6 * time.Second

// backsOff tells whether the operator may be waiting to try again what met a fault.
func (m *member) backsOff() bool {
	failed := m.failed.Load()
	return failed != 0 && time.Since(time.Unix(0, failed)) < longestBackOff
}

// noteFault keeps what the last write met. An operator that was killed begins anew, without a wait.
func (m *member) noteFault(met proxy.Fault) {
	if met == proxy.None || met.Kills() {
		m.failed.Store(0)
		return
	}
	m.failed.Store(time.Now().UnixNano())
}

// errUnsettled tells that the operator is not done.
var errUnsettled = errors.New("the operator has not settled")

// state is what there is of an object when the operator has settled.
type state struct {
	object  *unstructured.Unstructured
	picture snapshot.Picture
	// ready is what the object says, and why.
	ready bool
	why   string
}

// hope is how often nothing has happened where an object is not ready, and will not be: as often as the
// operator was found settled. Each time takes it twice as long as it has to be quiet.
const hope = 3

// state waits until the operator has settled, and the object is ready, or nothing happens any more.
func (m *member) state(ctx context.Context) (s *state, err error) {
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
		if s, err = m.look(ctx); err != nil || s.ready {
			return s, err
		}
		if before == nil || same(before.picture, s.picture, snapshot.Mask{}) != nil {
			before, unchanged = s, 0
		}
	}
	return s, nil
}

// look looks at what there is now.
func (m *member) look(ctx context.Context) (*state, error) {
	// First, since a picture that is taken before it is told to be ready may show less.
	object, err := m.object(ctx)
	if err != nil {
		return nil, err
	}
	picture, err := m.picture(ctx)
	if err != nil {
		return nil, err
	}
	s := &state{object: object, picture: picture}
	s.ready, s.why = ready(object)
	return s, nil
}

// ready tells whether an object says that it is ready, and what it says about it.
func ready(object *unstructured.Unstructured) (bool, string) {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return false, ""
	}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True", fmt.Sprint(condition["message"])
		}
	}
	return false, ""
}

// picture is what the namespace holds.
func (m *member) picture(ctx context.Context) (snapshot.Picture, error) {
	return m.taker.Take(ctx, m.namespace)
}

// looks waits until the namespace is as in a picture.
func (m *member) looks(ctx context.Context, like snapshot.Picture, mask snapshot.Mask) error {
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

// errAnother tells that an end is not the one that it should be.
var errAnother = errors.New("the end is another")

// clear deletes the object, and waits until everything of it is gone.
func (m *member) clear(ctx context.Context) error {
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
			return fmt.Errorf("after the object was deleted, others are left: %s", left.Names())
		}
		return nil
	})
}

// abandon deletes the object of a namespace that is not used again.
func (m *member) abandon(ctx context.Context) error {
	r, err := m.resource(m.namespace, m.of.Object.Kind, m.of.Object.Version)
	if err != nil {
		return err
	}
	m.mischief.Store(nil)
	if err := r.Delete(context.WithoutCancel(ctx), m.of.Object.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
