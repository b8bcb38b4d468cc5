package main

import (
	"context"
	"fmt"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/hurtful"
	"example.com/nginx-operator/test/internal/figure"
)

// hangingLoss is the number of requests to one pod in the time until the verdict.
const hangingLoss = 5 * hurtfulLoss

// measureHanging submits configurations whose requests hang to applications under load, with a good one after each.
func measureHanging(ctx context.Context, s *session) ([]figure.Figure, error) {
	cases, err := s.hurtfulCases(hurtful.Hanging())
	if err != nil {
		return nil, err
	}
	rows, failed := s.runHurtful(ctx, cases, func(*v1alpha2.NginxOperatorSpec) {})
	return hangingFigures(rows), failed
}

// hangingFigures returns a figure for each configuration, and the goals for all.
func hangingFigures(rows []hurtfulRow) []figure.Figure {
	var figures []figure.Figure
	var twice, served, lost []string
	for _, row := range rows {
		figures = append(figures, figure.HasGoal(row.String(), float64(row.failed), "requests", figure.AtMost(hangingLoss), "condition: "+row.message))
		if row.loaded > 1 {
			twice = append(twice, row.Name)
		}
		if !row.refused() {
			served = append(served, row.Name)
		}
		if !row.recovered {
			lost = append(lost, row.Name)
		}
	}
	count := func(what string, names []string) {
		figures = append(figures, figure.HasGoal(fmt.Sprintf("%s, of %d", what, len(rows)), float64(len(names)), "configurations", figure.AtMost(0), names...))
	}
	count("that more than one pod loaded", twice)
	count("that were not rolled back", served)
	count("from which the application did not recover", lost)
	return figures
}
