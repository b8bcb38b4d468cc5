package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/test/internal/figure"
)

const (
	restartShards = 4
	// restartDip is the goal for the hit ratio, in points.
	restartDip = 2
	// operatorPause is how long a rollout has run when the operator is killed.
	operatorPause = 5 * time.Second
	// plainSettle is how long the load on the Deployment goes on after its restart.
	plainSettle = 20 * time.Second
)

// measureCacheRestart replaces all pods of a cache, and its operator, under load, and compares the hit ratio with that of
// nginx in a Deployment.
func measureCacheRestart(ctx context.Context, s *session) ([]figure.Figure, error) {
	o, _, err := s.objectBench(ctx, restartShards)
	if err != nil {
		return nil, err
	}
	address, err := o.serviceAddress(ctx, v1alpha1.EdgeName(o.cache.Name), cacheconf.Port)
	if err != nil {
		return nil, err
	}
	row, err := o.underLoad(ctx, address,
		step{"rolling restart of the shards and the edges", o.restart},
		step{"another image of both, with the operator killed meanwhile", o.changeImage},
		step{"rollout of the operator", func(ctx context.Context) error { return errors.Join(o.rollOutOperator(ctx), o.operatorRolledOut(ctx)) }},
	)
	if err != nil {
		return nil, err
	}
	const name = "2 edges and 4 shards"
	figures := append(row.figures(name, figure.AtMost(restartDip)), row.unfailed(name))
	plain, err := o.restartPlain(ctx)
	return append(figures, plain...), err
}

// restart replaces all pods of the cache.
func (o *objectBench) restart(ctx context.Context) error {
	err := o.changeCache(ctx, func(s *v1alpha1.NginxCacheSpec) {
		s.PodTemplate = &v1alpha2.PodTemplate{Annotations: map[string]string{"example.com/restart": "1"}}
	})
	if err != nil {
		return err
	}
	return o.waitReady(ctx)
}

// changeImage changes the image to another tag of the same version, and kills the operator while that is rolled out.
func (o *objectBench) changeImage(ctx context.Context) error {
	image, err := exactTag(*o.cache.Spec.Image, o.cache.Status.Shards.NginxVersion)
	if err != nil {
		return err
	}
	if err := o.changeCache(ctx, func(s *v1alpha1.NginxCacheSpec) { s.Image = &image }); err != nil {
		return err
	}
	if err := pause(ctx, operatorPause); err != nil {
		return err
	}
	if err := o.killOperatorPods(ctx); err != nil {
		return err
	}
	return o.waitReady(ctx)
}

// exactTag returns the image with the exact version in its tag, such as nginx:1.30.6-debian for nginx:1.30-debian.
func exactTag(image, version string) (string, error) {
	series := version[:max(strings.LastIndex(version, "."), 0)]
	repository, tag, ok := strings.Cut(image, ":"+series)
	if series == "" || !ok || strings.HasPrefix(tag, ".") {
		return "", fmt.Errorf("the image %s with nginx %q has no tag of a series such as 1.30: set E2E_NGINX_IMAGES to one that also has a tag of the exact version", image, version)
	}
	return repository + ":" + version + tag, nil
}

// restartPlain does a rolling restart of a Deployment of nginx under the same load.
func (o *objectBench) restartPlain(ctx context.Context) ([]figure.Figure, error) {
	p, err := o.plainBench(ctx, cacheEdges, nil)
	if err != nil {
		return nil, err
	}
	targets, err := p.podAddresses(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := o.fetch(ctx, "objects", o.objects.Count, targets...); err != nil {
		return nil, err
	}
	address, err := o.serviceAddress(ctx, plainName, plainPort)
	if err != nil {
		return nil, err
	}
	row, err := o.underLoad(ctx, address,
		step{"rolling restart of the Deployment", p.restart},
		step{"the load goes on", func(ctx context.Context) error { return pause(ctx, plainSettle) }})
	if err != nil {
		return nil, err
	}
	const name = "a Deployment with 2 pods of nginx"
	return append(row.figures(name, figure.Goal{}),
		figure.Info(fmt.Sprintf("%s: failed of %d requests", name, row.report.Requests), float64(row.report.Failed), "requests", tallies(row.report)...)), nil
}
