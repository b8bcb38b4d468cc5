package main

import (
	"context"

	"example.com/nginx-operator/test/bench/scale"
	"example.com/nginx-operator/test/internal/figure"
)

// scaleSizes are how many objects there are in each run.
var scaleSizes = []int{500, 5000, 10000}

const scalePodsObjects = 500

// measureScale runs the operator with few objects and with many, and compares.
func measureScale(ctx context.Context, s *session) ([]figure.Figure, error) {
	sizes := s.objects
	if len(sizes) == 0 {
		sizes = scaleSizes
	}
	var figures []figure.Figure
	var results []scale.Result
	for _, n := range sizes {
		result, err := scale.Run(ctx, s.scaleOptions(n))
		if err != nil {
			return figures, err
		}
		results = append(results, result)
		figures = append(figures, result.Figures()...)
	}
	if len(results) > 1 {
		figures = append(figures, scale.Growth(results[0], results[len(results)-1])...)
	}
	return figures, nil
}

// measureScalePods runs the operator with pods.
func measureScalePods(ctx context.Context, s *session) ([]figure.Figure, error) {
	result, err := scale.Pods(ctx, s.scaleOptions(s.count(scalePodsObjects)))
	if err != nil {
		return nil, err
	}
	return result.Figures(), nil
}

func (s *session) scaleOptions(n int) scale.Options {
	return scale.Options{Objects: n, Window: s.window, Patience: s.patience, Progress: func(format string, values ...any) {
		s.progress("scale: "+format, values...)
	}}
}
