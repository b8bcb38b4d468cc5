package main

import (
	"context"
	"fmt"
	"time"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
)

const (
	// hotObjects fit in overheadHotSize, and of coldObjects only one in twenty does.
	hotObjects, coldObjects = 200, 20_000
	overheadHotSize         = "4Mi"
	overheadPlainSize       = "4m"
	// overheadRounds is the number of alternating rounds, because the speed of the machine varies.
	overheadRounds = 3
	// overheadWindow is how long each load runs, with overheadClients that send one request after the other, and then at
	// overheadRate to compare latencies.
	overheadWindow  = 6 * time.Second
	overheadClients = 32
	overheadRate    = 500
	// edgeShare and shardShare are the goals, in percent of the requests a second that nginx alone answers.
	edgeShare, shardShare = 80, 45
)

// target is a cache and some objects that are requested from it.
type target struct {
	name, address, folder string
	objects               int
	// rates are the requests a second in each round, slow is the report at a fixed rate, and sum what all rounds answered.
	rates []float64
	slow  load.Report
	sum   load.Second
}

// measureCacheOverhead compares an edge and a shard with one nginx that caches by itself, and with two of them in a row: the
// same image, objects and load, one after the other on all cores.
func measureCacheOverhead(ctx context.Context, s *session) ([]figure.Figure, error) {
	o, targets, err := s.overheadBench(ctx)
	if err != nil {
		return nil, err
	}
	for round := range overheadRounds {
		for _, t := range targets {
			report, err := o.press(ctx, t, 0)
			if err != nil {
				return nil, err
			}
			s.progress("cache-overhead: round %d of %d: %s: %s", round+1, overheadRounds, t.name, report)
			t.rates = append(t.rates, report.Rate())
		}
	}
	for _, t := range targets {
		if t.slow, err = o.press(ctx, t, overheadRate); err != nil {
			return nil, err
		}
	}
	plainHot, edge, plainCold, shard, two := targets[0], targets[1], targets[2], targets[3], targets[4]
	figures := []figure.Figure{
		figure.HasGoal("hits on the edge: requests/s, of those of nginx alone", 100*median(edge.rates)/median(plainHot.rates), "%", figure.AtLeast(edgeShare)),
		figure.HasGoal("hits on the shard: requests/s, of those of nginx alone", 100*median(shard.rates)/median(plainCold.rates), "%", figure.AtLeast(shardShare)),
		figure.Info("nginx in front of nginx: requests/s, of those of nginx alone", 100*median(two.rates)/median(plainCold.rates), "%"),
	}
	for _, t := range targets {
		figures = append(figures, t.figures()...)
	}
	return figures, nil
}

// overheadBench creates a cache of one edge and one shard, and one nginx, and has both store all objects.
func (s *session) overheadBench(ctx context.Context) (*objectBench, []*target, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, nil, err
	}
	// What is compared is nginx, and not the way to another node.
	node, err := b.oneNode(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, err := b.cacheBench(ctx, cacheShape{edges: 1, shards: 1, node: node, storage: objectStorage, hotSize: overheadHotSize, origin: originSpec(1, objectOrigin())})
	if err != nil {
		return nil, nil, err
	}
	if _, err := b.plainBench(ctx, 1, node); err != nil {
		return nil, nil, err
	}
	tier, err := b.serviceAddress(ctx, v1alpha1.EdgeName(c.cache.Name), cacheconf.Port)
	if err != nil {
		return nil, nil, err
	}
	plain, err := b.serviceAddress(ctx, plainName, plainPort)
	if err != nil {
		return nil, nil, err
	}
	if _, err := b.plainShaped(ctx, plainShape{name: plainFront, origin: plain, size: overheadPlainSize, replicas: 1, node: node}); err != nil {
		return nil, nil, err
	}
	front, err := b.serviceAddress(ctx, plainFront, plainPort)
	if err != nil {
		return nil, nil, err
	}
	cold := s.count(coldObjects)
	targets := []*target{
		{name: "nginx alone, few objects", address: plain, folder: "hot", objects: hotObjects},
		{name: "hits on the edge", address: tier, folder: "hot", objects: hotObjects},
		{name: "nginx alone, many objects", address: plain, folder: "cold", objects: cold},
		{name: "hits on the shard", address: tier, folder: "cold", objects: cold},
		{name: "nginx in front of nginx, many objects", address: front, folder: "cold", objects: cold},
	}
	o := &objectBench{cacheBench: c, node: node}
	for _, t := range targets {
		if _, err := o.fetch(ctx, t.folder, t.objects, t.address); err != nil {
			return nil, nil, err
		}
	}
	return o, targets, nil
}

// press requests the objects of a target for a while, all equally often; rate 0: as fast as possible.
func (o *objectBench) press(ctx context.Context, t *target, rate float64) (load.Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.patience, fmt.Errorf("the load on %s does not end", t.name))
	defer cancel()
	o.loads++
	report, err := incluster.RunToEnd(ctx, o.kube, o.namespace, fmt.Sprintf("load-%d", o.loads), o.loadImage, o.node, load.Options{
		Targets: []string{t.address}, Host: objectHost, Duration: overheadWindow, Rate: rate, Timeline: true,
		Objects: &load.Objects{Count: t.objects},
		Clients: objectClients(t.folder, load.Clients{Count: overheadClients, KeepAlive: true}),
	})
	for _, second := range report.Timeline {
		t.sum = t.sum.Add(second)
	}
	return report, err
}

func (t *target) figures() []figure.Figure {
	var rounds []string
	for _, r := range t.rates {
		rounds = append(rounds, fmt.Sprintf("%.0f requests/s", r))
	}
	answers := float64(max(t.sum.Edge+t.sum.Shard+t.sum.Origin, 1))
	l := t.slow.Latency
	return []figure.Figure{
		figure.Info(t.name+": as many requests as possible", median(t.rates), "requests/s", rounds...),
		figure.Info(fmt.Sprintf("%s: median latency at %d requests/s", t.name, overheadRate), 1000*l.P50, "ms"),
		figure.Info(fmt.Sprintf("%s: latency of 99 of 100 at %d requests/s", t.name, overheadRate), 1000*l.P99, "ms"),
		figure.Info(t.name+": answered by the cache nearest to the client", 100*float64(t.sum.Edge)/answers, "%"),
		figure.Info(t.name+": answered by the shard", 100*float64(t.sum.Shard)/answers, "%"),
		figure.HasGoal(fmt.Sprintf("%s: failed of %d requests", t.name, t.sum.Requests), float64(t.sum.Failed), "requests", figure.AtMost(0)),
	}
}
