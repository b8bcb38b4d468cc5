package main

import (
	"context"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/test/bench/scale"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/testenv"
)

// scaleSizes are the default numbers of objects, one for each run.
var scaleSizes = []int{500, 5000, 10000}

const scalePodsObjects = 500

// measureScale runs the operator with few and with many objects, and compares the results.
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

const unreachableObjects = 20

// measureUnreachable changes an application beside others whose pods do not answer.
func measureUnreachable(ctx context.Context, s *session) ([]figure.Figure, error) {
	result, err := scale.Unreachable(ctx, s.scaleOptions(s.count(unreachableObjects)))
	if err != nil {
		return nil, err
	}
	return result.Figures(), nil
}

const fairnessObjects = 60

// measureFairness changes an application while those of another namespace misbehave.
func measureFairness(ctx context.Context, s *session) ([]figure.Figure, error) {
	result, err := scale.MeasureFairness(ctx, s.scaleOptions(s.count(fairnessObjects)))
	return result.Figures(), err
}

const changesObjects = 1000

// measureChanges changes configurations, of one application with many pods and of many applications.
func measureChanges(ctx context.Context, s *session) ([]figure.Figure, error) {
	result, err := scale.Changes(ctx, s.scaleOptions(s.count(changesObjects)))
	if err != nil {
		return nil, err
	}
	return result.Figures(), nil
}

// The steps by which a fleet grows, in objects.
const (
	limitStep     = 2500
	limitStepPods = 1000
)

// measureScaleLimit searches for the limit of an operator as the manifests install it.
func measureScaleLimit(ctx context.Context, s *session) ([]figure.Figure, error) {
	memory, err := manifestMemory()
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	for _, sort := range []struct {
		step int
		pods bool
	}{{limitStep, false}, {limitStepPods, true}} {
		result, err := scale.Limit(ctx, scale.LimitOptions{Options: s.scaleOptions(s.count(sort.step)), Memory: memory, Pods: sort.pods})
		if err != nil {
			return figures, err
		}
		figures = append(figures, result.Figures()...)
	}
	return figures, nil
}

// manifestMemory returns the memory limit of the operator's container in config/manager, in bytes.
func manifestMemory() (int64, error) {
	text, err := os.ReadFile(filepath.Join(testenv.Root(), "config", "manager", "deployment.yaml"))
	if err != nil {
		return 0, err
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &deployment); err != nil {
		return 0, err
	}
	return deployment.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().Value(), nil
}

func (s *session) scaleOptions(n int) scale.Options {
	return scale.Options{Objects: n, Window: s.window, Patience: s.patience, Progress: func(format string, values ...any) {
		s.progress("scale: "+format, values...)
	}}
}
