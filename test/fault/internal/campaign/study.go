package campaign

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// study plays the cases of the specimen: first those that change single fields, then the random
// ones. Their operator looks after all namespaces: nobody else may be at work. Others tells whether
// there are cases to play after them.
func (c *Campaign) study(ctx context.Context, report *Report, others bool) error {
	if c.Specimen == nil || !c.looksAt("", "property", "random") {
		return nil
	}
	p, err := c.Stage.newStudy(ctx, c.Specimen)
	if err != nil {
		return err
	}
	report.specimen = p
	c.Progress("%d fields of %s, %d operations", len(p.leaves), c.Specimen.Object.Kind, len(p.operations))
	single, random := c.choose(report, p.cases()), c.choose(report, p.randomCases(c.Random))
	if err := c.examine(ctx, report, p, single, others || len(random) > 0); err != nil {
		return err
	}
	return c.examine(ctx, report, p, random, others)
}

// specimenShare is the part of the time that is left, for each of the two kinds of cases of a specimen.
const specimenShare = 0.25

// share is when the time of a kind of cases of a specimen is over: its share, if there are others.
func (c *Campaign) share(others bool) time.Time {
	if c.Until.IsZero() || !others {
		return c.Until
	}
	return time.Now().Add(time.Duration(specimenShare * float64(time.Until(c.Until))))
}

// examine plays cases of one kind, with an operator for all of them. Others tells whether there are
// more to play after them.
func (c *Campaign) examine(ctx context.Context, report *Report, p *study, cases []Case, others bool) (err error) {
	if len(cases) == 0 {
		return nil
	}
	kind := cases[0].Kind
	p.crowd = c.Stage.newCrowd(kind, p.of)
	defer func() { err = errors.Join(err, p.crowd.end(ctx)) }()
	if kind == "random" {
		// A walk has two namespaces, and so has the golden end of each seed.
		if err := p.crowd.fix(ctx, 2*c.Parallel+2*len(p.of.Seeds)+resting/2); err != nil {
			return err
		}
	}
	if err := p.crowd.start(); err != nil {
		return err
	}
	if p.goldens == nil {
		if err := c.learn(ctx, p); err != nil {
			return err
		}
	}
	c.play(ctx, report, cases, nil, c.share(others))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.Progress("their operator looks after %d namespaces, in which there is nothing to do", len(p.crowd.members))
	if err := p.crowd.calmDown(ctx); err != nil {
		report.Failures = append(report.Failures, Failure{kind, err})
	}
	return nil
}

// learn finds out what the seeds become.
func (c *Campaign) learn(ctx context.Context, p *study) error {
	goldens, errs := make([]*Golden, len(p.of.Seeds)), make([]error, len(p.of.Seeds))
	c.each(ctx, len(p.of.Seeds), time.Time{}, func(seed int) {
		goldens[seed], errs[seed] = p.learn(ctx, seed)
	})
	p.goldens = goldens
	return errors.Join(errs...)
}

// learn finds out what a seed becomes, twice.
func (p *study) learn(ctx context.Context, seed int) (*Golden, error) {
	var pictures []snapshot.Picture
	for range 2 {
		m, err := p.crowd.vacant(ctx, seedName(seed))
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
	mask := snapshot.Mask{Learned: learned, Means: p.crowd.Means, Past: p.of.past}
	return &Golden{End: pictures[0], Mask: mask}, err
}
