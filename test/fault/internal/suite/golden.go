package suite

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// Golden is the undisturbed run of a journey.
type Golden struct {
	// Begin is the picture after the given steps, and End the one at the end.
	Begin, End snapshot.Picture
	// Mask selects the paths that are not compared.
	Mask snapshot.Mask
	// Lasting are the objects of Begin that still exist at the end with the same UID.
	Lasting map[string]bool
	// Writes and Reads are the operator's requests between Begin and End.
	Writes, Reads []proxy.Request
	// Orders is the number of orders to pods in that time, and MostOrders the maximum for one pod.
	Orders, MostOrders int
	// Events are the events of each view between Begin and End.
	Events map[string][]proxy.Event
}

// Golden runs a journey twice without a disturbance.
func (s *Stage) Golden(ctx context.Context, j *journey.Journey) (*Golden, error) {
	return s.goldenOf(ctx, j, func(*caseRun) error { return nil })
}

// goldenOf does the same, with an additional check at the end.
func (s *Stage) goldenOf(ctx context.Context, j *journey.Journey, check func(*caseRun) error) (*Golden, error) {
	g, err := s.undisturbed(ctx, j, check)
	if err != nil {
		return nil, fmt.Errorf("%s, undisturbed: %w", j.Name, err)
	}
	again, err := s.undisturbed(ctx, j, check)
	if err != nil {
		return nil, fmt.Errorf("%s, undisturbed for the second time: %w", j.Name, err)
	}
	g.Mask.Means = s.Means
	if g.Mask.Learned, err = snapshot.Volatile(g.End, again.End); err != nil {
		return nil, fmt.Errorf("%s: %w", j.Name, err)
	}
	return g, nil
}

// Undisturbed runs a journey once without a disturbance, and checks its end.
func (s *Stage) Undisturbed(ctx context.Context, j *journey.Journey) (*Golden, error) {
	return s.undisturbed(ctx, j, func(*caseRun) error { return nil })
}

func (s *Stage) undisturbed(ctx context.Context, j *journey.Journey, check func(*caseRun) error) (g *Golden, err error) {
	p, err := s.newCaseRun(ctx, j)
	defer func() { err = joined(err, p) }()
	if err != nil {
		return nil, err
	}
	p.golden = true
	g = &Golden{Lasting: map[string]bool{}}
	if g.Begin, err = p.taker.Take(ctx, p.namespace); err != nil {
		return nil, err
	}
	writes, reads, views := len(p.client.Writes()), len(p.client.Reads()), p.client.Views()
	if err := p.perform(ctx); err != nil {
		return nil, err
	}
	if err := p.settle(ctx); err != nil {
		return nil, err
	}
	if g.End, err = p.end(ctx); err != nil {
		return nil, err
	}
	g.Orders, g.MostOrders = p.orders.counts()
	g.Writes, g.Reads, g.Events = p.client.Writes()[writes:], p.client.Reads()[reads:], map[string][]proxy.Event{}
	for name, events := range p.client.Views() {
		g.Events[name] = events[len(views[name]):]
	}
	for key, uid := range g.Begin.UIDs {
		g.Lasting[key] = g.End.UIDs[key] == uid
	}
	return g, errors.Join(p.promise(ctx), p.honest(g.End), p.renewed(g.Begin, g.End), p.stable(ctx), p.checkOrders(), check(p))
}

// end takes the picture when no object is about to be deleted any more.
func (p *caseRun) end(ctx context.Context) (snapshot.Picture, error) {
	var picture snapshot.Picture
	err := p.await(ctx, func(ctx context.Context) error {
		taken, err := p.taker.Take(ctx, p.namespace)
		if err == nil && len(taken.Passing) > 0 {
			err = fmt.Errorf("being deleted, but still present: %v", taken.Passing)
		}
		picture = taken
		return err
	})
	return picture, err
}

// perform runs the steps under faults, and waits until all expectations are met.
func (p *caseRun) perform(ctx context.Context) error {
	p.Pods.Expect(p.namespace)
	p.orders.expect()
	for i := range p.journey.When {
		if p.hasOwnKeys() {
			if _, err := p.observeKeys(ctx); err != nil {
				return err
			}
		}
		if err := p.step(ctx, &p.journey.When[i]); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if err := p.arrive(ctx); err != nil {
		return err
	}
	return errors.Join(p.checkServed(ctx), p.withdrawn(ctx))
}

// renewed checks, for journeys that say so, that no owned object was taken over from a deleted
// owner.
func (p *caseRun) renewed(begin, end snapshot.Picture) error {
	if !p.journey.Renews {
		return nil
	}
	for _, key := range snapshot.NotRecreated(begin, end) {
		if owners, _, err := unstructured.NestedSlice(begin.Objects[key], "metadata", "ownerReferences"); err != nil || len(owners) > 0 {
			return errors.Join(fmt.Errorf("%s belongs to a deleted owner", key), err)
		}
	}
	return nil
}

// promise checks that no pod got a request that it must not get, that the ready pods serve what
// they should, and that enough pods were ready at any time.
func (p *caseRun) promise(ctx context.Context) error {
	if err := p.serving(ctx); err != nil {
		return err
	}
	if broken := p.Pods.Broken(p.namespace); broken != "" {
		return errors.New(broken)
	}
	if p.canKill {
		return nil
	}
	if n := p.Pods.Fewest(p.namespace); n < p.journey.Keeps {
		return fmt.Errorf("only %d pods were ready for a while, but %d are promised", n, p.journey.Keeps)
	}
	return nil
}
