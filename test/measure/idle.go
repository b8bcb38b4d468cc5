package main

import (
	"context"
	"time"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
)

// measureIdle watches the operator while nothing changes.
func measureIdle(ctx context.Context, s *session) ([]figure.Figure, error) {
	fleet, err := s.fleet(ctx)
	if err != nil {
		return nil, err
	}
	s.progress("idle: observing for %s", s.window)
	start := time.Now()
	if err := pause(ctx, s.window); err != nil {
		return nil, err
	}
	requests, err := fleet.requests(start, start.Add(s.window))
	if err != nil {
		return nil, err
	}
	figures, err := fleet.figures(ctx)
	if err != nil {
		return nil, err
	}
	figures = append(figures,
		figure.Info("observed for", s.window.Seconds(), "s"),
		count(requests, audit.Write, figure.AtMost(0)),
		fleet.share(requests),
		count(requests, audit.Read, figure.AtMost(0)),
	)
	return append(figures, asides(requests)...), nil
}

// count returns the figure for a class of requests.
func count(requests map[audit.Class][]audit.Event, class audit.Class, goal figure.Goal) figure.Figure {
	events := requests[class]
	return figure.HasGoal(string(class), float64(len(events)), "requests", goal, audit.Tally(events)...)
}

// asides returns figures for the requests that are not caused by the managed objects.
func asides(requests map[audit.Class][]audit.Event) []figure.Figure {
	var figures []figure.Figure
	for _, class := range []audit.Class{audit.Watch, audit.Lease, audit.LeaseEvent, audit.Review} {
		figures = append(figures, count(requests, class, figure.Goal{}))
	}
	return figures
}
