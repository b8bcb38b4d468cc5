package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/hurtful"
	"example.com/nginx-operator/test/internal/figure"
)

const (
	hurtfulReplicas = 3
	// hurtfulRate is the number of requests to each application per second.
	hurtfulRate = 60
	// hurtfulApplications is the number of applications that get configurations at the same time.
	hurtfulApplications = 2
	// hurtfulCases is the goal for the size of the whole corpus.
	hurtfulCases = 150
	// hurtfulLoss is the number of requests that one pod loses in a second.
	hurtfulLoss = hurtfulRate / hurtfulReplicas
)

// measureHurtful submits hurtful configurations one after the other to applications under load,
// with a good one after each.
func measureHurtful(ctx context.Context, s *session) ([]figure.Figure, error) {
	cases, err := s.hurtfulCases(hurtful.All())
	if err != nil {
		return nil, err
	}
	rows, failed := s.runHurtful(ctx, cases, func(*v1alpha2.NginxOperatorSpec) {})
	return slices.Concat(hurtfulRows(rows), hurtfulSummary(rows, s.samples())), failed
}

// measureServingNothing counts how many of the configurations that serve nothing are refused, by
// default and with the checks that an application can declare.
func measureServingNothing(ctx context.Context, s *session) ([]figure.Figure, error) {
	cases, err := s.hurtfulCases(hurtful.ServingNothing())
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	var errs []error
	for _, mode := range servingNothingModes() {
		rows, err := s.runHurtful(ctx, cases, mode.declare)
		errs = append(errs, err)
		refused, details := 0, make([]string, 0, len(rows))
		for _, row := range rows {
			if row.refused() {
				refused++
			}
			details = append(details, row.String())
		}
		figures = append(figures, figure.Info(fmt.Sprintf("refused of %d that serve nothing, %s", len(rows), mode.name), float64(refused), "configurations", details...))
	}
	return figures, errors.Join(errs...)
}

// servingNothingMode is what an application declares in addition to its configuration.
type servingNothingMode struct {
	name    string
	declare func(*v1alpha2.NginxOperatorSpec)
}

func servingNothingModes() []servingNothingMode {
	const canarySeconds = 5
	return []servingNothingMode{
		{"by default", func(*v1alpha2.NginxOperatorSpec) {}},
		{"with a canary", func(s *v1alpha2.NginxOperatorSpec) {
			s.Rollout = &v1alpha2.Rollout{FirstAnswers: new(v1alpha2.FirstAnswersIgnore), Canary: &v1alpha2.Canary{DurationSeconds: new(int32(canarySeconds))}}
		}},
		{"with checks", func(s *v1alpha2.NginxOperatorSpec) {
			s.Rollout = &v1alpha2.Rollout{FirstAnswers: new(v1alpha2.FirstAnswersIgnore)}
			s.Checks = []v1alpha2.Check{
				{Path: hurtful.Path, Host: new("www.example.com"), ExpectStatus: new(int32(http.StatusOK)), ExpectBody: new(hurtful.Body(http.MethodGet))},
				{Path: hurtful.PagePath, ExpectStatus: new(int32(http.StatusOK))},
			}
		}},
	}
}

// samples reports whether only a part of the corpus runs.
func (s *session) samples() bool { return s.share < 1 || len(s.cases) > 0 }

// hurtfulCases returns the cases that the flags select: by name or family, and of these an evenly
// spread share.
func (s *session) hurtfulCases(all []hurtful.Case) ([]hurtful.Case, error) {
	for _, name := range s.cases {
		if !slices.ContainsFunc(all, func(c hurtful.Case) bool { return c.Name == name || string(c.Family) == name }) {
			return nil, fmt.Errorf("there is no configuration or family %q", name)
		}
	}
	var chosen []hurtful.Case
	before := 0.0
	for _, c := range all {
		if len(s.cases) > 0 && !slices.Contains(s.cases, c.Name) && !slices.Contains(s.cases, string(c.Family)) {
			continue
		}
		after := before + s.share
		if int(after+shareSlack) > int(before+shareSlack) {
			chosen = append(chosen, c)
		}
		before = after
	}
	return chosen, nil
}

// shareSlack makes a share of 0.1 select the first of ten, and exceeds the rounding errors of the
// sums.
const shareSlack = 0.9999

// runHurtful submits the configurations to several applications at the same time.
func (s *session) runHurtful(ctx context.Context, cases []hurtful.Case, declare func(*v1alpha2.NginxOperatorSpec)) ([]hurtfulRow, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var rows []hurtfulRow
	var errs []error
	next := make(chan hurtful.Case)
	var applications sync.WaitGroup
	for i := range s.count(hurtfulApplications) {
		applications.Go(func() {
			l := &hurtfulApplication{bench: b, name: fmt.Sprintf("web-%d", i), declare: declare}
			for c := range next {
				row, err := l.run(ctx, c)
				mu.Lock()
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
				} else {
					rows = append(rows, row)
					s.progress("hurtful: %d of %d: %s", len(rows), len(cases), row)
				}
				mu.Unlock()
			}
			mu.Lock()
			errs = append(errs, l.stop(ctx))
			mu.Unlock()
		})
	}
	begin := time.Now()
	for _, c := range cases {
		if ctx.Err() != nil || s.budget > 0 && time.Since(begin) > s.budget {
			break
		}
		next <- c
	}
	close(next)
	applications.Wait()
	slices.SortFunc(rows, func(x, y hurtfulRow) int { return hurtfulOrder(cases, x) - hurtfulOrder(cases, y) })
	return rows, errors.Join(append(errs, ctx.Err())...)
}

func hurtfulOrder(cases []hurtful.Case, row hurtfulRow) int {
	return slices.IndexFunc(cases, func(c hurtful.Case) bool { return c.Name == row.Name })
}

func hurtfulRows(rows []hurtfulRow) []figure.Figure {
	var figures []figure.Figure
	for _, row := range rows {
		figures = append(figures, figure.HasGoal(row.String(), float64(row.failed), "requests", row.goal(), strings.TrimSpace("condition: "+row.message)))
	}
	return figures
}

// hurtfulSummary returns the goals, for each family and for all.
func hurtfulSummary(rows []hurtfulRow, sample bool) []figure.Figure {
	var figures []figure.Figure
	for _, family := range hurtful.Families() {
		var found, over []string
		for _, row := range rows {
			if row.Family != family {
				continue
			}
			found = append(found, row.Name)
			if float64(row.failed) > row.loss() {
				over = append(over, row.String())
			}
		}
		if len(found) > 0 {
			figures = append(figures, figure.HasGoal(fmt.Sprintf("%s: configurations beyond their goal, of %d", family, len(found)), float64(len(over)), "configurations", figure.AtMost(0)))
		}
	}
	count := func(what string, goal figure.Goal, counts func(hurtfulRow) bool) {
		var names []string
		for _, row := range rows {
			if counts(row) {
				names = append(names, row.String())
			}
		}
		figures = append(figures, figure.HasGoal(what, float64(len(names)), "configurations", goal, names...))
	}
	if sample {
		figures = append(figures, figure.Info("configurations, a sample", float64(len(rows)), "configurations"))
	} else {
		count("configurations", figure.AtLeast(hurtfulCases), func(hurtfulRow) bool { return true })
		figures[len(figures)-1].Details = nil
	}
	count("that more than one pod loaded", figure.AtMost(0), func(r hurtfulRow) bool { return r.loaded > 1 })
	count("that are foreseeable, but a pod loaded", figure.AtMost(0), func(r hurtfulRow) bool { return r.Detection == hurtful.Foreseeable && r.loaded > 0 })
	count("that were not refused", figure.AtMost(0), func(r hurtfulRow) bool { return !r.refused() })
	count("that were refused with a wrong diagnosis", figure.AtMost(0), func(r hurtfulRow) bool { return r.refused() && r.Want.In(r.message) != nil })
	count("with a pod in CrashLoopBackOff afterwards", figure.AtMost(0), func(r hurtfulRow) bool { return r.crashing > 0 })
	count("from which the application did not recover", figure.AtMost(0), func(r hurtfulRow) bool { return !r.recovered })
	var served, failed int64
	for _, row := range rows {
		served, failed = served+row.requests, failed+row.failed
	}
	return append(figures, figure.Info("requests meanwhile", float64(served), "requests"), figure.Info("requests failed meanwhile", float64(failed), "requests"))
}
