package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

const (
	upgradeReplicas = 3
	upgradeRate     = 400
)

// measureUpgrade changes the image of an application under load: from the oldest version of nginx
// step by step to the newest, and directly back to the oldest.
func measureUpgrade(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	backend, err := incluster.StartEcho(ctx, b.kube, b.namespace, "echo", b.loadImage)
	if err != nil {
		return nil, err
	}
	t := &trafficBench{bench: b, site: site.Site{Backend: backend}, rate: upgradeRate}
	if t.nginx, err = b.create(ctx, "web", spec(upgradeReplicas, b.images[0], t.site.Files(t.revision()))); err != nil {
		return nil, err
	}
	var figures []figure.Figure
	var errs []error
	for i := range b.images {
		found, err := t.upgrade(ctx, i, b.images[(i+1)%len(b.images)])
		figures = append(figures, found...)
		errs = append(errs, err)
	}
	return figures, errors.Join(errs...)
}

// upgrade changes the image of the pods under load.
func (t *trafficBench) upgrade(ctx context.Context, i int, image string) ([]figure.Figure, error) {
	before := t.version()
	var took time.Duration
	var watched *quiescence
	row := trafficRow{name: "change of the image", times: 1, disturb: func(ctx context.Context, t *trafficBench, _ int) error {
		var err error
		if watched, err = t.watch(ctx, t.nginx); err != nil {
			return err
		}
		start := time.Now()
		if err := t.edit(ctx, t.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Image = &image }); err != nil {
			return err
		}
		err = t.ready(ctx, t.nginx)
		took = time.Since(start)
		return err
	}}
	report, err := t.row(ctx, fmt.Sprintf("load-%d", i), row)
	change := before + " → " + t.version()
	t.progress("operand-upgrade: %s in %.1f s: %s", change, took.Seconds(), report)
	figures := []figure.Figure{
		figure.Info(change+": edit → Ready", took.Seconds(), "s"),
		figure.HasGoal(fmt.Sprintf("%s: failed of %d requests", change, report.Requests), float64(report.Failed), "requests", figure.AtMost(0), tallies(report)...),
	}
	if watched == nil {
		return figures, err
	}
	lowest, failed := watched.stop()
	return append(figures, figure.HasGoal(change+": pods ready, at the lowest", float64(lowest), "pods", figure.AtLeast(upgradeReplicas))), errors.Join(err, failed)
}
