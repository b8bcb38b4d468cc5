package campaign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/test/fault/internal/snapshot"
)

// lag is how long the operator works on an old view.
const lag = time.Second

// StaleCases restart the operator on an old view, after everything is done: as of each event of each
// view.
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
	p, err := s.newPlay(ctx, s.journeys[c.Journey])
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	before := len(p.guest.Views()[view])
	if err := p.perform(ctx); err != nil {
		return false, err
	}
	if err := p.matches(ctx, g); err != nil {
		return false, err
	}
	events := p.guest.Views()[view][before:]
	if len(events) < n {
		return false, p.stable(ctx)
	}
	if err := p.lagBehind(ctx, g, view, events[n-1].Version); err != nil {
		return true, fmt.Errorf("%w\n%s", err, p.said())
	}
	return p.guest.Shown(view), nil
}

// lagBehind restarts the operator on an old view, lets it work, and lets it see what there is.
func (p *play) lagBehind(ctx context.Context, g *Golden, view, version string) error {
	end, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return err
	}
	p.kill()
	p.guest.Freeze(view, version)
	if err := p.start(); err != nil {
		return err
	}
	if err := p.await(ctx, func(context.Context) error { return p.guest.Listed() }); err != nil {
		return err
	}
	if err := pause(ctx, lag); err != nil {
		return err
	}
	if err := p.untouched(ctx, end); err != nil {
		return err
	}
	p.guest.Thaw()
	if err := p.matches(ctx, g); err != nil {
		return err
	}
	after, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return err
	}
	for _, key := range snapshot.Replaced(end, after) {
		return fmt.Errorf("%s was deleted on the word of an old view, and made again", key)
	}
	return p.stable(ctx)
}

// untouched makes sure that nothing was changed on the word of an old view: that it is put right
// later helps nobody whom it has hurt.
func (p *play) untouched(ctx context.Context, before snapshot.Picture) error {
	now, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return err
	}
	if found := snapshot.Differences(declared(before), declared(now), snapshot.Mask{Means: p.Means}); len(found) > 0 {
		return fmt.Errorf("on the word of an old view, %s", strings.Join(found[:min(len(found), 3)], "; "))
	}
	return nil
}
