package campaign

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// Golden is what a journey is when nothing disturbs it.
type Golden struct {
	// Begin is when everything given was there, End the end.
	Begin, End snapshot.Picture
	// Mask are the paths that are not compared.
	Mask snapshot.Mask
	// Lasting are the objects of Begin that were still the same ones in the end.
	Lasting map[string]bool
	// Writes and Reads are the operator's between Begin and End.
	Writes, Reads []proxy.Request
	// Events are those of each of its views between Begin and End.
	Events map[string][]proxy.Event
}

// Golden plays a journey twice without disturbing it.
func (s *Stage) Golden(ctx context.Context, j *journey.Journey) (*Golden, error) {
	return s.goldenOf(ctx, j, func(*play) error { return nil })
}

// goldenOf does so, and has something else looked at in the end.
func (s *Stage) goldenOf(ctx context.Context, j *journey.Journey, look func(*play) error) (*Golden, error) {
	g, err := s.undisturbed(ctx, j, look)
	if err != nil {
		return nil, fmt.Errorf("%s, undisturbed: %w", j.Name, err)
	}
	again, err := s.undisturbed(ctx, j, look)
	if err != nil {
		return nil, fmt.Errorf("%s, undisturbed for the second time: %w", j.Name, err)
	}
	g.Mask.Means = s.Means
	if g.Mask.Learned, err = snapshot.Volatile(g.End, again.End); err != nil {
		return nil, fmt.Errorf("%s: %w", j.Name, err)
	}
	return g, nil
}

func (s *Stage) undisturbed(ctx context.Context, j *journey.Journey, look func(*play) error) (g *Golden, err error) {
	p, err := s.newPlay(ctx, j)
	defer func() { err = joined(err, p) }()
	if err != nil {
		return nil, err
	}
	p.golden = true
	g = &Golden{Lasting: map[string]bool{}}
	if g.Begin, err = p.taker.Take(ctx, p.namespace); err != nil {
		return nil, err
	}
	writes, reads, views := len(p.guest.Writes()), len(p.guest.Reads()), p.guest.Views()
	if err := p.perform(ctx); err != nil {
		return nil, err
	}
	if err := p.settle(ctx); err != nil {
		return nil, err
	}
	if g.End, err = p.end(ctx); err != nil {
		return nil, err
	}
	g.Writes, g.Reads, g.Events = p.guest.Writes()[writes:], p.guest.Reads()[reads:], map[string][]proxy.Event{}
	for name, events := range p.guest.Views() {
		g.Events[name] = events[len(views[name]):]
	}
	for key, uid := range g.Begin.UIDs {
		g.Lasting[key] = g.End.UIDs[key] == uid
	}
	return g, errors.Join(p.promise(ctx), p.honest(g.End), p.renewed(g.Begin, g.End), p.stable(ctx), look(p))
}

// end takes a picture when nothing is about to be collected any more.
func (p *play) end(ctx context.Context) (snapshot.Picture, error) {
	var picture snapshot.Picture
	err := p.await(ctx, func(ctx context.Context) error {
		taken, err := p.taker.Take(ctx, p.namespace)
		if err == nil && len(taken.Passing) > 0 {
			err = fmt.Errorf("about to go, and still there: %v", taken.Passing)
		}
		picture = taken
		return err
	})
	return picture, err
}

// perform does what the user does, and waits for the end.
func (p *play) perform(ctx context.Context) error {
	p.Pods.Expect(p.namespace)
	for i := range p.journey.When {
		if err := p.step(ctx, &p.journey.When[i]); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if err := p.arrive(ctx); err != nil {
		return err
	}
	return p.told(ctx)
}

// renewed makes sure that nothing was taken over from what was deleted, where a journey says so.
func (p *play) renewed(begin, end snapshot.Picture) error {
	if !p.journey.Renews {
		return nil
	}
	for _, key := range snapshot.Kept(begin, end) {
		if owners, _, err := unstructured.NestedSlice(begin.Objects[key], "metadata", "ownerReferences"); err != nil || len(owners) > 0 {
			return errors.Join(fmt.Errorf("%s is that of an owner that was deleted", key), err)
		}
	}
	return nil
}

// promise makes sure that no pod was told what it must not be, that those which are ready serve what they should, and
// that enough were ready all the while.
func (p *play) promise(ctx context.Context) error {
	if err := p.serving(ctx); err != nil {
		return err
	}
	if broken := p.Pods.Broken(p.namespace); broken != "" {
		return errors.New(broken)
	}
	if p.mortal {
		return nil
	}
	if n := p.Pods.Fewest(p.namespace); n < p.journey.Keeps {
		return fmt.Errorf("%d pods were ready for a while, %d are promised", n, p.journey.Keeps)
	}
	return nil
}
