package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
)

const (
	purgeShards = 8
	// purges is the number of purges of one URL each.
	purges = 200
	// purgeTries is the number of URLs that are purged while pods leave and join, purgeBatch of them by one purge. A
	// purge waits for the pods that are away, so several are made at the same time.
	purgeTries, purgeBatch, purgeWorkers = 10_000, 100, 10
	// purgePause is the time between two pods that are deleted.
	purgePause = 10 * time.Second
	// purgePatience bounds a request, because one to a pod that is gone may get no answer.
	purgePatience = 2 * time.Second
	// purgeMedian, purgeTail, purgePrefix and purgeTag are the goals, in seconds.
	purgeMedian, purgeTail, purgePrefix, purgeTag = 0.15, 1, 1, 5
	// tagged is the number of objects with a tag, and untagged that of others, stored beside them.
	tagged, untagged = 10_000, 10_000
)

// purgeOrigin answers each request with another text, so that an answer shows whether it was stored.
const purgeOrigin = `server {
    listen 8080;
    location / { return 200 "$host $request_uri $request_id\n"; }
    location /tagged/ { add_header Cache-Tag some; return 200 "$host $request_uri $request_id\n"; }
}
`

// purgeBench is a cache whose objects are purged.
type purgeBench struct {
	*cacheBench
	// host is the host of the requests, which the API server sends on.
	host string
	// stale counts the old answers, checked all answers, and deleted the pods.
	stale, checked, deleted atomic.Int64
}

// measurePurge purges objects and measures when the purge is complete. Then it purges objects while pods leave and join,
// and looks for old answers after each purge was complete.
func measurePurge(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	c, err := b.cacheBench(ctx, cacheShape{edges: cacheEdges, shards: purgeShards, storage: "64Mi", origin: originSpec(2, purgeOrigin)})
	if err != nil {
		return nil, err
	}
	p := &purgeBench{cacheBench: c}
	answer, err := p.get(ctx, 0, "/host")
	if err != nil {
		return nil, err
	}
	p.host, _, _ = strings.Cut(answer, " ")
	s.progress("cache-purge: purges of one URL")
	one, err := p.purgeEach(ctx, s.count(purges))
	if err != nil {
		return nil, err
	}
	slices.Sort(one)
	figures := []figure.Figure{
		figure.HasGoal("a purge of a URL on 2 edges and 8 shards, until it is complete: median", one[len(one)/2], "s", figure.AtMost(purgeMedian)),
		figure.HasGoal("the same, 99 of 100", one[len(one)*99/100], "s", figure.AtMost(purgeTail)),
		figure.HasGoal("old answers after these purges", float64(p.stale.Swap(0)), "answers", figure.AtMost(0)),
	}
	many, err := p.purgeMany(ctx, s.count(tagged), s.count(untagged))
	if figures = append(figures, many...); err != nil {
		return figures, err
	}
	s.progress("cache-purge: purges while pods leave and join")
	p.checked.Store(0)
	began := time.Now()
	if err := p.purgeWhileJoining(ctx, s.count(purgeTries)); err != nil {
		return figures, err
	}
	return append(figures,
		figure.HasGoal("old answers after purges while pods leave and join", float64(p.stale.Load()), "answers", figure.AtMost(0)),
		figure.Info("URLs that were purged meanwhile", float64(s.count(purgeTries)), "URLs"),
		figure.Info("answers that were checked", float64(p.checked.Load()), "answers"),
		figure.Info("pods deleted meanwhile", float64(p.deleted.Load()), "pods"),
		figure.Info("the time that this took", time.Since(began).Seconds(), "s")), nil
}

// purgeEach purges objects one by one. It returns how long each purge took, in seconds.
func (p *purgeBench) purgeEach(ctx context.Context, n int) (seconds []float64, err error) {
	for i := range n {
		took, err := p.purgePaths(ctx, []string{fmt.Sprintf("/one/%d", i)})
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, took.Seconds())
	}
	return seconds, nil
}

// purgeMany has many objects stored, and purges those with a tag, and then those below a prefix.
func (p *purgeBench) purgeMany(ctx context.Context, tagged, untagged int) ([]figure.Figure, error) {
	if err := errors.Join(p.store(ctx, "tagged", tagged), p.store(ctx, "untagged", untagged)); err != nil {
		return nil, err
	}
	tag, err := p.purgeStored(ctx, fmt.Sprintf("/tagged/%d", tagged/2), v1alpha1.NginxCachePurgeSpec{Tags: []string{"some"}})
	if err != nil {
		return nil, err
	}
	prefix, err := p.purgeStored(ctx, fmt.Sprintf("/untagged/%d", untagged/2), v1alpha1.NginxCachePurgeSpec{Prefixes: []string{"https://" + p.host + "/untagged/"}})
	return []figure.Figure{
		figure.HasGoal(fmt.Sprintf("a purge of a tag that %d of %d objects have, until it is complete", tagged, tagged+untagged), tag, "s", figure.AtMost(purgeTag)),
		figure.HasGoal(fmt.Sprintf("a purge of a prefix of %d objects, until it is complete", untagged), prefix, "s", figure.AtMost(purgePrefix)),
		figure.HasGoal("old answers after these purges", float64(p.stale.Swap(0)), "answers", figure.AtMost(0)),
	}, err
}

// purgeStored makes a purge that an object is a part of, and requests it again. It returns how long the purge took, in
// seconds.
func (p *purgeBench) purgeStored(ctx context.Context, path string, spec v1alpha1.NginxCachePurgeSpec) (float64, error) {
	var before []string
	for edge := range cacheEdges {
		answer, err := p.get(ctx, edge, path)
		if err != nil {
			return 0, err
		}
		before = append(before, answer)
	}
	began := time.Now()
	if err := p.purge(ctx, spec); err != nil {
		return 0, err
	}
	took := time.Since(began).Seconds()
	for edge := range cacheEdges {
		if err := p.check(ctx, edge, path, before); err != nil {
			return took, err
		}
	}
	return took, nil
}

// store has objects in a folder stored.
func (p *purgeBench) store(ctx context.Context, folder string, n int) error {
	address, err := p.serviceAddress(ctx, v1alpha1.EdgeName(p.cache.Name), cacheconf.Port)
	if err != nil {
		return err
	}
	report, err := incluster.RunToEnd(ctx, p.kube, p.namespace, "store-"+folder, p.loadImage, nil, load.Options{
		Targets: []string{address}, Host: p.host, Objects: &load.Objects{Count: n, Once: true},
		Clients: []load.Clients{{Count: overheadClients, KeepAlive: true, Path: "/" + folder + "/{object}"}},
	})
	p.progress("cache-purge: stored in %s: %s", folder, report)
	return err
}

// purgeWhileJoining purges objects in batches, while one pod after the other is deleted.
func (p *purgeBench) purgeWhileJoining(ctx context.Context, n int) error {
	deleting, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.deletePods(deleting) }()
	group, purging := errgroup.WithContext(ctx)
	group.SetLimit(purgeWorkers)
	for first := 0; first < n; first += purgeBatch {
		group.Go(func() error {
			var paths []string
			for i := first; i < min(first+purgeBatch, n); i++ {
				paths = append(paths, fmt.Sprintf("/many/%d/%d", first/purgeBatch, i))
			}
			took, err := p.purgePaths(purging, paths)
			p.progress("cache-purge: URLs %d to %d: complete after %.1f s", first, first+len(paths)-1, took.Seconds())
			return err
		})
	}
	err := group.Wait()
	stop()
	if deleted := <-ended; err == nil {
		return deleted
	}
	return err
}

// deletePods deletes two shards and an edge in turn, until ctx ends.
func (p *purgeBench) deletePods(ctx context.Context) error {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(purgePause):
		}
		pod := fmt.Sprintf("%s-%d", v1alpha1.ShardsName(p.cache.Name), i%purgeShards)
		if i%3 == 2 {
			pod = fmt.Sprintf("%s-%d", v1alpha1.EdgeName(p.cache.Name), i%cacheEdges)
		}
		if err := p.deletePod(ctx, pod); err != nil {
			return err
		}
		p.deleted.Add(1)
	}
}

// purgePaths has objects stored, purges them, and requests them again from every edge. It returns how long the purge
// took.
func (p *purgeBench) purgePaths(ctx context.Context, paths []string) (took time.Duration, err error) {
	before := map[string][]string{}
	var urls []string
	for _, path := range paths {
		for edge := range cacheEdges {
			// While an edge joins, the other one answers.
			if answer, err := p.getSoon(ctx, edge, path); err == nil {
				before[path] = append(before[path], answer)
			}
		}
		urls = append(urls, "https://"+p.host+path)
	}
	began := time.Now()
	if err := p.purge(ctx, v1alpha1.NginxCachePurgeSpec{URLs: urls}); err != nil {
		return 0, err
	}
	took = time.Since(began)
	for _, path := range paths {
		for edge := range cacheEdges {
			if err := p.check(ctx, edge, path, before[path]); err != nil {
				return took, err
			}
		}
	}
	return took, nil
}

// check waits until an edge answers, and counts the answer.
func (p *purgeBench) check(ctx context.Context, edge int, path string, before []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.patience, fmt.Errorf("edge %d does not answer", edge))
	defer cancel()
	for {
		answer, err := p.getSoon(ctx, edge, path)
		if err == nil {
			p.checked.Add(1)
			if slices.Contains(before, answer) {
				p.progress("%s is old on edge %d", path, edge)
				p.stale.Add(1)
			}
			return nil
		}
		if err := pause(ctx, restartPoll); err != nil {
			return err
		}
	}
}

// getSoon returns the answer of an edge, unless it takes too long.
func (p *purgeBench) getSoon(ctx context.Context, edge int, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, purgePatience)
	defer cancel()
	return p.get(ctx, edge, path)
}
