package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// lag is the time that the operator works with an old view.
const lag = time.Second

// StaleCases returns cases that restart the operator with an old view after the journey has ended.
// There is one for each event of each view.
func StaleCases(journey string, g *Golden) []Case {
	var all []Case
	for _, view := range slices.Sorted(maps.Keys(g.Events)) {
		for n := range g.Events[view] {
			all = append(all, stale(journey, view, n+1))
		}
	}
	return all
}

func stale(journey, view string, n int) Case {
	c := Case{Kind: "stale", Journey: journey, Point: fmt.Sprintf("view@%d:%s", n, view)}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) { return s.stale(ctx, c, g, view, n) }
	return c
}

func (s *Stage) stale(ctx context.Context, c Case, g *Golden, view string, n int) (reached bool, err error) {
	p, err := s.newCaseRun(ctx, s.journeys[c.Journey])
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	before := len(p.client.Views()[view])
	if err := p.perform(ctx); err != nil {
		return false, err
	}
	if err := p.matches(ctx, g); err != nil {
		return false, err
	}
	events := p.client.Views()[view][before:]
	if len(events) < n {
		return false, p.stable(ctx)
	}
	if err := p.lagBehind(ctx, g, view, events[n-1].Version); err != nil {
		return true, fmt.Errorf("%w\n%s", err, p.said())
	}
	return p.client.Shown(view), nil
}

// lagBehind restarts the operator with an old view, lets it work, and then updates the view.
func (p *caseRun) lagBehind(ctx context.Context, g *Golden, view, version string) error {
	end, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return err
	}
	p.kill()
	p.client.Freeze(view, version)
	if err := p.start(); err != nil {
		return err
	}
	if err := p.await(ctx, func(context.Context) error { return p.client.Listed() }); err != nil {
		return err
	}
	if err := pause(ctx, lag); err != nil {
		return err
	}
	if err := p.untouched(ctx, end); err != nil {
		return err
	}
	p.client.Thaw()
	if err := p.matches(ctx, g); err != nil {
		return err
	}
	after, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return err
	}
	for _, key := range snapshot.Replaced(end, after) {
		return fmt.Errorf("%s was deleted because of a stale view, and recreated", key)
	}
	return p.stable(ctx)
}

// untouched checks that the operator changed nothing because of an old view: a later correction
// does not undo the damage.
func (p *caseRun) untouched(ctx context.Context, before snapshot.Picture) error {
	now, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return err
	}
	if found := snapshot.Differences(withoutStatus(before), withoutStatus(now), snapshot.Mask{Means: p.Means}); len(found) > 0 {
		return fmt.Errorf("because of a stale view, %s", strings.Join(found[:min(len(found), 3)], "; "))
	}
	return nil
}
