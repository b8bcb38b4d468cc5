package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// study runs the cases of the fixture: first those that change single fields, then the random
// ones. Their operator manages all namespaces, so no other operator may run. others reports whether
// there are cases to run afterwards.
func (c *Suite) study(ctx context.Context, report *Report, others bool) error {
	if c.Fixture == nil || !c.inspects("", "property", "random") {
		return nil
	}
	p, err := c.Stage.newStudy(ctx, c.Fixture)
	if err != nil {
		return err
	}
	report.fixture = p
	c.Progress("%d fields of %s, %d operations", len(p.leaves), c.Fixture.Object.Kind, len(p.operations))
	single, random := c.choose(report, p.cases()), c.choose(report, p.randomCases(c.Random))
	if err := c.examine(ctx, report, p, single, others || len(random) > 0); err != nil {
		return err
	}
	return c.examine(ctx, report, p, random, others)
}

// fixtureShare is the fraction of the remaining time for each of the two kinds of cases of a
// fixture.
const fixtureShare = 0.25

// share returns the time at which a kind of cases of a fixture must end: after its share, if there
// are other cases.
func (c *Suite) share(others bool) time.Time {
	if c.Until.IsZero() || !others {
		return c.Until
	}
	return time.Now().Add(time.Duration(fixtureShare * float64(time.Until(c.Until))))
}

// examine runs cases of one kind with one operator. others reports whether there are more to run
// afterwards.
func (c *Suite) examine(ctx context.Context, report *Report, p *study, cases []Case, others bool) (err error) {
	if len(cases) == 0 {
		return nil
	}
	kind := cases[0].Kind
	p.pool = c.Stage.newNamespacePool(kind, p.of)
	defer func() { err = errors.Join(err, p.pool.end(ctx)) }()
	if kind == "random" {
		// A walk needs two namespaces, and so does the golden run of each seed.
		if err := p.pool.fix(ctx, 2*c.Parallel+2*len(p.of.Seeds)+minRestingNamespaces/2); err != nil {
			return err
		}
	}
	if err := p.pool.start(); err != nil {
		return err
	}
	if p.goldens == nil {
		if err := c.learn(ctx, p); err != nil {
			return err
		}
	}
	c.runCase(ctx, report, cases, nil, c.share(others))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.Progress("checking that the operator of %d namespaces has nothing to do", len(p.pool.members))
	if err := p.pool.calmDown(ctx); err != nil {
		report.Failures = append(report.Failures, Failure{kind, err})
	}
	return nil
}

// learn finds the golden end of each seed.
func (c *Suite) learn(ctx context.Context, p *study) error {
	goldens, errs := make([]*Golden, len(p.of.Seeds)), make([]error, len(p.of.Seeds))
	c.each(ctx, len(p.of.Seeds), time.Time{}, func(seed int) {
		goldens[seed], errs[seed] = p.learn(ctx, seed)
	})
	p.goldens = goldens
	return errors.Join(errs...)
}

// learn creates a seed's object twice, and returns its golden end.
func (p *study) learn(ctx context.Context, seed int) (*Golden, error) {
	var pictures []snapshot.Picture
	for range 2 {
		m, err := p.pool.vacant(ctx, seedName(seed))
		if err != nil {
			return nil, err
		}
		if err := m.put(ctx, p.of.Seeds[seed]); err != nil {
			return nil, err
		}
		s, err := m.state(ctx)
		if err != nil {
			return nil, err
		}
		if !s.ready && p.of.Unready[seed] == "" {
			return nil, fmt.Errorf("seed %d is not ready: %s", seed, s.why)
		}
		pictures = append(pictures, s.picture)
		defer m.leave(seed)
	}
	learned, err := snapshot.Volatile(pictures[0], pictures[1])
	mask := snapshot.Mask{Learned: learned, Means: p.pool.Means, Past: p.of.past}
	return &Golden{End: pictures[0], Mask: mask}, err
}
