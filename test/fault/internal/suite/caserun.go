package suite

import (
	"cmp"
	"context"
	"crypto/ed25519"
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
	// patience is the default patience of a stage.
	patience = 60 * time.Second
	// glance is the time until the first check of what should happen. Checks become rarer, because
	// they take time from other cases.
	glance        = 50 * time.Millisecond
	longestGlance = 400 * time.Millisecond
	// quiet is the time without a write after which the operator counts as settled.
	quiet = 700 * time.Millisecond
)

// caseRun is one run of a journey, with its own operator.
type caseRun struct {
	*operator
	journey   *journey.Journey
	namespace string
	// orders are the orders to its pods, and network is what they pass.
	orders  *orderBook
	network *network
	// keys are the keys that signed orders at some time, if the operator has its own.
	keys []ed25519.PrivateKey
	// canKill reports whether the case kills pods, so that fewer may be ready.
	canKill bool
	// golden reports whether the run is undisturbed.
	golden bool
	// then is the picture of the moment at which all expectations were met.
	then snapshot.Picture
}

// newCaseRun starts a run: it runs the given steps, and waits until the operator has settled.
func (s *Stage) newCaseRun(ctx context.Context, j *journey.Journey) (*caseRun, error) {
	return s.newWrappedRun(ctx, j, nil)
}

// newWrappedRun starts a run with a wrapper of its pods; nil: there is none.
func (s *Stage) newWrappedRun(ctx context.Context, j *journey.Journey, pods func(namespace string) wrapper) (*caseRun, error) {
	namespace, err := s.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	p := &caseRun{operator: s.operator(namespace, namespace), journey: j, namespace: namespace, network: newNetwork()}
	if j.Outage() {
		p.more = outage
	}
	p.orders = newOrderBook(func() {
		// A killed program sends nothing.
		p.client.Disconnect()
		p.client.OnKill()
	})
	var with wrapper
	if pods != nil {
		with = pods(namespace)
	}
	s.Pods.Disturb(namespace, p.orders.wrap(p.network.wrap(with)))
	if s.Begin != nil {
		if err := s.Begin(j, namespace); err != nil {
			return nil, err
		}
	}
	p.arguments, p.client.Unknown = j.Arguments, j.Unknown
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

// close ends a run. The objects stay. The pods also stay if the run was disturbed and succeeded,
// and there is room to keep them.
func (p *caseRun) close(well bool) error {
	p.halt()
	if well && !p.golden && !p.hasOwnKeys() && p.keep(p.namespace, p.arguments) {
		return nil
	}
	return p.Pods.Forget(p.namespace)
}

// step runs one step.
func (p *caseRun) step(ctx context.Context, s *journey.Step) error {
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
	case s.Unreachable != "":
		p.network.change(s.Unreachable)
		return nil
	case s.Serve != "":
		return p.await(ctx, func(context.Context) error { return p.serve(s.Serve) })
	default:
		return p.await(ctx, func(ctx context.Context) error { return p.expect(ctx, s.Await) })
	}
}

// lose makes a node unreachable.
func (p *caseRun) lose(ctx context.Context, node string) error {
	cluster, ok := p.Pods.(interface {
		Lose(ctx context.Context, namespace, node string) error
	})
	if !ok {
		return errors.New("these pods do not run on nodes, so no node can be lost")
	}
	return cluster.Lose(ctx, p.namespace, node)
}

func (p *caseRun) create(ctx context.Context, manifest map[string]any) error {
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
	// An object that was just deleted may still exist.
	return p.await(ctx, func(ctx context.Context) error {
		_, err := r.Create(ctx, object, metav1.CreateOptions{FieldManager: "user"})
		return err
	})
}

func (p *caseRun) patch(ctx context.Context, s *journey.Step) error {
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

// delete deletes an object. Like kubectl, it waits until the object is gone, unless the step says
// otherwise. Another object with the same name may then exist.
func (p *caseRun) delete(ctx context.Context, s *journey.Step) error {
	before, err := p.get(ctx, p.namespace, *s.Delete)
	if err != nil {
		return err
	}
	if before == nil {
		return fmt.Errorf("there is no %s to delete", s.Delete)
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
			err = fmt.Errorf("%s still exists", s.Delete)
		}
		return err
	})
}

// expect checks an expectation once.
func (p *caseRun) expect(ctx context.Context, e *journey.Expectation) error {
	object, err := p.get(ctx, p.namespace, e.Object)
	if err != nil {
		return err
	}
	return e.Check(object)
}

// settle waits until the operator has written nothing for a while, and no pod starts or ends.
func (p *caseRun) settle(ctx context.Context) error {
	deadline := time.Now().Add(p.Patience + p.more)
	for n := -1; ; {
		now, behind := len(p.client.Writes()), p.client.Behind(p.namespace)
		switch {
		case behind != nil || p.Pods.Busy(p.namespace):
			now = -1
		case n == now:
			return nil
		}
		if n = now; time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("after %s, the operator still writes, or pods still start and end: %s", p.Patience, last(p.client.Writes(), 5)), behind)
		}
		if err := pause(ctx, quiet); err != nil {
			return err
		}
	}
}

// arrive waits until all expectations are met.
func (p *caseRun) arrive(ctx context.Context) error {
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

// matches waits until everything is as in the golden run.
func (p *caseRun) matches(ctx context.Context, golden *Golden) error {
	return p.await(ctx, func(ctx context.Context) error {
		picture, err := p.taker.Take(ctx, p.namespace)
		if err != nil {
			return err
		}
		removeRivalFields(picture)
		if found := snapshot.Differences(golden.End, picture, golden.Mask); len(found) > 0 {
			return fmt.Errorf("the end differs from that of an undisturbed run: %s", strings.Join(found[:min(len(found), 5)], "; "))
		}
		return nil
	})
}

// stable checks that the operator writes nothing more, even after it lists everything again and
// after a restart.
func (p *caseRun) stable(ctx context.Context) error {
	p.client.OnWrite, p.client.OnEvent = nil, nil
	p.orders.disturb(nil)
	if err := p.settle(ctx); err != nil {
		return err
	}
	p.client.Expire()
	if err := p.silent(ctx, "after it had to list everything again"); err != nil {
		return err
	}
	if err := p.restart(); err != nil {
		return err
	}
	return p.silent(ctx, "after a restart")
}

func (p *caseRun) silent(ctx context.Context, when string) error {
	before := len(p.client.Writes())
	if err := p.await(ctx, func(context.Context) error { return p.client.Listed() }); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	if writes := p.client.Writes()[before:]; len(writes) > 0 {
		return fmt.Errorf("%s, %w: %s", when, ErrWrites, last(writes, 5))
	}
	return nil
}

// errBroken means that a pod got a request that no pod must get.
var errBroken = errors.New("a pod got a forbidden request")

// ErrWrites means that an operator writes after a restart, or after it listed everything again.
var ErrWrites = errors.New("the operator writes although everything is in its desired state")

func last(writes []proxy.Request, n int) string {
	var texts []string
	for _, w := range writes[max(0, len(writes)-n):] {
		texts = append(texts, w.String())
	}
	return strings.Join(texts, ", ")
}

// joined closes a run, and joins the error of that with err.
func joined(err error, p *caseRun) error {
	if p == nil {
		return err
	}
	return errors.Join(err, p.close(err == nil))
}
