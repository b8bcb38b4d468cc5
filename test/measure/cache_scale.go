package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
)

const (
	scaleShards = 4
	// sampledObjects is the number of objects whose shard is compared before and after.
	sampledObjects = 2000
	// movedShare is the goal, in percent: a fifth moves if the ring is perfect.
	movedShare = 100 * 1.2 / (scaleShards + 1)
)

// measureCacheScale adds a shard and removes it under load.
func measureCacheScale(ctx context.Context, s *session) ([]figure.Figure, error) {
	o, _, err := s.objectBench(ctx, scaleShards)
	if err != nil {
		return nil, err
	}
	address, err := o.serviceAddress(ctx, v1alpha1.EdgeName(o.cache.Name), cacheconf.Port)
	if err != nil {
		return nil, err
	}
	out, in := &sample{objectBench: o, folder: "out"}, &sample{objectBench: o, folder: "in"}
	if err := out.before(ctx); err != nil {
		return nil, err
	}
	row, err := o.underLoad(ctx, address,
		step{"4 → 5 shards", func(ctx context.Context) error { return o.scale(ctx, scaleShards+1) }},
		step{"2,000 other objects are requested by each edge, to see where they are", func(ctx context.Context) error {
			if err := out.after(ctx); err != nil {
				return err
			}
			return in.before(ctx)
		}},
		step{"5 → 4 shards", func(ctx context.Context) error { return o.scale(ctx, scaleShards) }},
		step{"these 2,000 objects are requested again", in.after},
	)
	if err != nil {
		return nil, err
	}
	const name = "4 → 5 → 4 shards"
	figures := append(out.figures("4 → 5 shards"), in.figures("5 → 4 shards")...)
	return append(append(figures, row.figures(name, figure.Goal{})...), row.unfailed(name)), nil
}

// scale changes the number of shards, and waits until the cache has it.
func (o *objectBench) scale(ctx context.Context, shards int32) error {
	if err := o.changeCache(ctx, func(s *v1alpha1.NginxCacheSpec) { s.Shards.Replicas = &shards }); err != nil {
		return err
	}
	return o.waitReady(ctx)
}

// sample is a set of objects of its own, which is requested from one edge before a change of the shards, and from the
// other one afterwards: an edge that had them would answer itself, and not say which shard has them.
type sample struct {
	*objectBench
	folder string
	// was and is have the objects of each shard, and forgotten is how many the origin answered afterwards.
	was, is   map[string][]int
	forgotten int64
}

func (p *sample) before(ctx context.Context) error {
	report, err := p.fetchFrom(ctx, 0)
	p.was = report.Owners
	return err
}

func (p *sample) after(ctx context.Context) error {
	report, err := p.fetchFrom(ctx, 1)
	p.is = report.Owners
	for _, s := range report.Timeline {
		p.forgotten += s.Origin
	}
	return err
}

// fetchFrom requests the objects from an edge.
func (p *sample) fetchFrom(ctx context.Context, edge int) (load.Report, error) {
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: p.namespace, Name: naming.Pod(v1alpha1.EdgeName(p.cache.Name), edge)}
	if err := p.client.Get(ctx, key, pod); err != nil {
		return load.Report{}, err
	}
	return p.fetch(ctx, p.folder, sampledObjects, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(cacheconf.Port)))
}

func (p *sample) figures(name string) []figure.Figure {
	moved := movedObjects(p.was, p.is)
	return []figure.Figure{
		figure.HasGoal(fmt.Sprintf("%s: share of the objects that move", name), 100*float64(moved)/sampledObjects, "%", figure.AtMost(movedShare)),
		figure.Info(fmt.Sprintf("%s: share of the objects that are requested from the origin again", name), 100*float64(p.forgotten)/sampledObjects, "%"),
	}
}

// movedObjects returns how many objects have another owner than before. was and is have the objects of each.
func movedObjects(was, is map[string][]int) int {
	owner, moved := map[int]string{}, 0
	for name, objects := range was {
		for _, object := range objects {
			owner[object] = name
		}
	}
	for name, objects := range is {
		for _, object := range objects {
			if owner[object] != name {
				moved++
			}
		}
	}
	return moved
}
