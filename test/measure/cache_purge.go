package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/test/internal/figure"
)

const (
	purgeShards = 8
	// purges is the number of purges of one URL each.
	purges = 200
	// purgeTries is the number of URLs that are purged while pods leave and join, purgeBatch of them by one purge.
	purgeTries, purgeBatch = 10_000, 100
	// purgePause is the time between two pods that are deleted.
	purgePause = 10 * time.Second
	// purgeMedian and purgeTail are the goals, in seconds.
	purgeMedian, purgeTail = 0.15, 1
)

// measurePurge purges objects and measures when the purge is complete. Then it purges objects while pods leave and join,
// and looks for old answers after each purge was complete.
func measurePurge(ctx context.Context, s *session) ([]figure.Figure, error) {
	c, err := s.cacheBench(ctx, purgeShards, "32Mi")
	if err != nil {
		return nil, err
	}
	s.progress("cache-purge: purges of one URL")
	one, stale, err := c.purgeEach(ctx, s.count(purges))
	if err != nil {
		return nil, err
	}
	slices.Sort(one)
	figures := []figure.Figure{
		figure.HasGoal("a purge of a URL on 2 edges and 8 shards, until it is complete: median", one[len(one)/2], "s", figure.AtMost(purgeMedian)),
		figure.HasGoal("the same, 99 of 100", one[len(one)*99/100], "s", figure.AtMost(purgeTail)),
		figure.HasGoal("old answers after these purges", float64(stale), "answers", figure.AtMost(0)),
	}
	s.progress("cache-purge: purges while pods leave and join")
	tries, stale, deleted, err := c.purgeWhileJoining(ctx, s.count(purgeTries))
	if err != nil {
		return figures, err
	}
	return append(figures,
		figure.HasGoal("old answers after purges while pods leave and join", float64(stale), "answers", figure.AtMost(0)),
		figure.Info("answers that were checked", float64(tries), "answers"),
		figure.Info("pods deleted meanwhile", float64(deleted), "pods")), nil
}

// purgeEach purges objects one by one. It returns how long each purge took, in seconds, and how many answers were old.
func (c *cacheBench) purgeEach(ctx context.Context, n int) (seconds []float64, stale int, err error) {
	for i := range n {
		paths := []string{fmt.Sprintf("/one/%d", i)}
		began, old, err := c.purgePaths(ctx, paths)
		if err != nil {
			return nil, 0, err
		}
		seconds, stale = append(seconds, began.Seconds()), stale+old
	}
	return seconds, stale, nil
}

// purgeWhileJoining purges objects in batches, while one pod after the other is deleted.
func (c *cacheBench) purgeWhileJoining(ctx context.Context, n int) (tries, stale, deleted int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	group.Go(func() error {
		for ; ; deleted++ {
			select {
			case <-ended:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(purgePause):
			}
			pod := fmt.Sprintf("%s-%d", v1alpha1.ShardsName(c.cache.Name), deleted%purgeShards)
			if deleted%3 == 2 {
				pod = fmt.Sprintf("%s-%d", v1alpha1.EdgeName(c.cache.Name), deleted%cacheEdges)
			}
			if err := c.deletePod(ctx, pod); err != nil {
				return err
			}
		}
	})
	group.Go(func() error {
		defer close(ended)
		for batch := 0; batch*purgeBatch < n; batch++ {
			var paths []string
			for i := range min(purgeBatch, n-batch*purgeBatch) {
				paths = append(paths, fmt.Sprintf("/many/%d/%d", batch, i))
			}
			_, old, err := c.purgePaths(ctx, paths)
			if err != nil {
				return err
			}
			tries, stale = tries+len(paths)*cacheEdges, stale+old
		}
		return nil
	})
	return tries, stale, deleted, group.Wait()
}

// purgePaths has objects stored, purges them, and requests them again from every edge. It returns how long the purge
// took, and how many answers were old.
func (c *cacheBench) purgePaths(ctx context.Context, paths []string) (took time.Duration, stale int, err error) {
	before := map[string]string{}
	var urls []string
	for _, path := range paths {
		for edge := range cacheEdges {
			// While an edge joins, the other one answers.
			if answer, err := c.get(ctx, edge, path); err == nil {
				before[fmt.Sprint(edge, path)] = answer
			}
		}
		urls = append(urls, "https://"+c.host+path)
	}
	began := time.Now()
	if err := c.purge(ctx, v1alpha1.NginxCachePurgeSpec{URLs: urls}); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	for _, path := range paths {
		for edge := range cacheEdges {
			answer, err := c.get(ctx, edge, path)
			if err != nil {
				continue
			}
			for other := range cacheEdges {
				if answer == before[fmt.Sprint(other, path)] {
					c.progress("%s is old on edge %d", path, edge)
					stale++
					break
				}
			}
		}
	}
	return took, stale, nil
}
