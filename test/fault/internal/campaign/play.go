package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

const (
	// patience is that of a stage of which nobody says otherwise.
	patience = 60 * time.Second
	// glance is after which time it is looked for the first time whether it has come. Looks take time that
	// others need, so they become rarer.
	glance        = 50 * time.Millisecond
	longestGlance = 400 * time.Millisecond
	// quiet is how long nothing is written where nothing is to be.
	quiet = 700 * time.Millisecond
)

// play is one performance of a journey, with an operator of its own.
type play struct {
	*operator
	journey   *journey.Journey
	namespace string
	// mortal: pods die by the hand of somebody else.
	mortal bool
	// golden: nothing disturbs it.
	golden bool
	// then is what there was when everything was told to be as expected.
	then snapshot.Picture
}

// newPlay begins a journey: what is given is there, and the operator has settled.
func (s *Stage) newPlay(ctx context.Context, j *journey.Journey, prepare ...func(namespace string)) (*play, error) {
	namespace, err := s.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range prepare {
		p(namespace)
	}
	if s.Begin != nil {
		if err := s.Begin(j, namespace); err != nil {
			return nil, err
		}
	}
	p := &play{operator: s.operator(namespace, namespace), journey: j, namespace: namespace}
	p.arguments, p.guest.Unknown = j.Arguments, j.Unknown
	if err := p.start(); err != nil {
		return nil, err
	}
	for i := range j.Given {
		if err := p.step(ctx, &j.Given[i]); err != nil {
			return p, fmt.Errorf("given: %w", err)
		}
	}
	return p, p.settle(ctx)
}

// close ends a play that went well, or not. What is stored stays, and the pods of some that went
// well though they were disturbed.
func (p *play) close(well bool) error {
	p.halt()
	if well && !p.golden && p.keep(p.namespace, p.arguments) {
		return nil
	}
	return p.Pods.Forget(p.namespace)
}

// step does what the user does.
func (p *play) step(ctx context.Context, s *journey.Step) error {
	switch {
	case s.Create != nil:
		return p.create(ctx, s.Create)
	case s.Patch != nil:
		return p.patch(ctx, s)
	case s.Delete != nil:
		return p.delete(ctx, s)
	case s.Lose != "":
		return p.lose(ctx, s.Lose)
	case s.Operator != "":
		return p.replace(s.Operator)
	default:
		return p.await(ctx, func(ctx context.Context) error { return p.expect(ctx, s.Await) })
	}
}

// lose makes a node one that nothing is heard of any more.
func (p *play) lose(ctx context.Context, node string) error {
	cluster, ok := p.Pods.(interface {
		Lose(ctx context.Context, namespace, node string) error
	})
	if !ok {
		return errors.New("what runs these pods has no nodes")
	}
	return cluster.Lose(ctx, p.namespace, node)
}

func (p *play) create(ctx context.Context, manifest map[string]any) error {
	manifest, err := p.fill(ctx, p.namespace, manifest)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: manifest}
	kind := object.GroupVersionKind()
	r, err := p.resource(p.namespace, kind.Kind, kind.Version)
	if err != nil {
		return err
	}
	// What was deleted a moment ago may be there still.
	return p.await(ctx, func(ctx context.Context) error {
		_, err := r.Create(ctx, object, metav1.CreateOptions{FieldManager: "user"})
		return err
	})
}

func (p *play) patch(ctx context.Context, s *journey.Step) error {
	r, err := p.resource(p.namespace, s.Patch.Kind, s.Patch.Version)
	if err != nil {
		return err
	}
	with, err := p.fill(ctx, p.namespace, s.With)
	if err != nil {
		return err
	}
	text, err := json.Marshal(with)
	if err != nil {
		return err
	}
	var of []string
	if s.Subresource != "" {
		of = []string{s.Subresource}
	}
	_, err = r.Patch(ctx, s.Patch.Name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: "user"}, of...)
	return err
}

// delete returns when the object is gone, if it is to wait, as kubectl does. Another one of its name may be
// there then.
func (p *play) delete(ctx context.Context, s *journey.Step) error {
	before, err := p.get(ctx, p.namespace, *s.Delete)
	if err != nil {
		return err
	}
	if before == nil {
		return fmt.Errorf("there is no %s that could be deleted", s.Delete)
	}
	r, err := p.resource(p.namespace, s.Delete.Kind, s.Delete.Version)
	if err != nil {
		return err
	}
	propagation := cmp.Or(s.Propagation, metav1.DeletePropagationBackground)
	if err := r.Delete(ctx, s.Delete.Name, metav1.DeleteOptions{PropagationPolicy: &propagation}); err != nil || !ptr.Deref(s.Wait, true) {
		return err
	}
	return p.await(ctx, func(ctx context.Context) error {
		after, err := p.get(ctx, p.namespace, *s.Delete)
		if err == nil && after != nil && after.GetUID() == before.GetUID() {
			err = fmt.Errorf("%s is still there", s.Delete)
		}
		return err
	})
}

// expect looks once.
func (p *play) expect(ctx context.Context, e *journey.Expectation) error {
	object, err := p.get(ctx, p.namespace, e.Object)
	if err != nil {
		return err
	}
	return e.Check(object)
}

// settle waits until the operator has written nothing for a while, and the pods are at rest.
func (p *play) settle(ctx context.Context) error {
	deadline := time.Now().Add(p.Patience)
	for n := -1; ; {
		now, behind := len(p.guest.Writes()), p.guest.Behind(p.namespace)
		switch {
		case behind != nil || p.Pods.Busy(p.namespace):
			now = -1
		case n == now:
			return nil
		}
		if n = now; time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("after %s it still writes, or pods start and end: %s", p.Patience, last(p.guest.Writes(), 5)), behind)
		}
		if err := pause(ctx, quiet); err != nil {
			return err
		}
	}
}

// arrive waits until everything is as expected in the end.
func (p *play) arrive(ctx context.Context) error {
	return p.await(ctx, func(ctx context.Context) error {
		if broken := p.Pods.Broken(p.namespace); broken != "" {
			return fmt.Errorf("%w: %s", errBroken, broken)
		}
		for i := range p.journey.Then {
			if err := p.expect(ctx, &p.journey.Then[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// matches waits until everything is as in a golden run.
func (p *play) matches(ctx context.Context, golden *Golden) error {
	return p.await(ctx, func(ctx context.Context) error {
		picture, err := p.taker.Take(ctx, p.namespace)
		if err != nil {
			return err
		}
		withoutRival(picture)
		if found := snapshot.Differences(golden.End, picture, golden.Mask); len(found) > 0 {
			return fmt.Errorf("the end is not that of an undisturbed run: %s", strings.Join(found[:min(len(found), 5)], "; "))
		}
		return nil
	})
}

// stable makes sure that nothing is written any more: not after everything was listed anew, and not
// after a restart.
func (p *play) stable(ctx context.Context) error {
	p.guest.OnWrite, p.guest.OnEvent = nil, nil
	if err := p.settle(ctx); err != nil {
		return err
	}
	p.guest.Expire()
	if err := p.silent(ctx, "after it had to list everything anew"); err != nil {
		return err
	}
	if err := p.restart(); err != nil {
		return err
	}
	return p.silent(ctx, "after a restart")
}

func (p *play) silent(ctx context.Context, when string) error {
	before := len(p.guest.Writes())
	if err := p.await(ctx, func(context.Context) error { return p.guest.Listed() }); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	if writes := p.guest.Writes()[before:]; len(writes) > 0 {
		return fmt.Errorf("%s, %w: %s", when, ErrWrites, last(writes, 5))
	}
	return nil
}

// errBroken tells that a pod was asked for something that no pod must be asked for.
var errBroken = errors.New("a pod was told what it must not be")

// ErrWrites tells that an operator writes after it was restarted, or had to list everything anew.
var ErrWrites = errors.New("it writes although everything is as it should be")

func last(writes []proxy.Request, n int) string {
	var words []string
	for _, w := range writes[max(0, len(writes)-n):] {
		words = append(words, w.String())
	}
	return strings.Join(words, ", ")
}

// joined closes a play, and joins what went wrong with that to why it failed.
func joined(err error, p *play) error {
	if p == nil {
		return err
	}
	return errors.Join(err, p.close(err == nil))
}
