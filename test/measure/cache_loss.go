package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/tier"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/figure"
)

const (
	lossShards = 4
	// lostShard is the ordinal of the shard that loses its volume.
	lostShard = 1
	// lossRatio is the part of the hit ratio at which the cache counts as back.
	lossRatio = 0.95
	// lossSettle is how long the load goes on after the shard is back.
	lossSettle = 60 * time.Second
)

// measureCacheLoss deletes a shard's pod together with its volume under load.
func measureCacheLoss(ctx context.Context, s *session) ([]figure.Figure, error) {
	o, stored, err := s.objectBench(ctx, lossShards)
	if err != nil {
		return nil, err
	}
	shard := naming.Pod(v1alpha1.ShardsName(o.cache.Name), lostShard)
	lost := stored.Owners[shard]
	if len(lost) == 0 {
		return nil, fmt.Errorf("no object is of %s: %d shards have some", shard, len(stored.Owners))
	}
	address, err := o.serviceAddress(ctx, v1alpha1.EdgeName(o.cache.Name), cacheconf.Port)
	if err != nil {
		return nil, err
	}
	row, err := o.underLoad(ctx, address,
		step{shard + " is deleted with its volume", func(ctx context.Context) error { return o.loseShard(ctx, shard) }},
		step{"the load goes on", func(ctx context.Context) error { return pause(ctx, lossSettle) }},
	)
	if err != nil {
		return nil, err
	}
	const name = "one of 4 shards is lost"
	share := 100 * o.objects.Share(lost)
	return append(row.figures(name, figure.Goal{}),
		row.unfailed(name),
		figure.Info(name+": share of the requests that are for its objects", share, "%",
			fmt.Sprintf("%d of %d objects were its own", len(lost), o.objects.Count)),
		figure.HasGoal(name+": share of the requests of any 10 s that the origin answered", row.worst(row.first()), "%", figure.AtMost(share)),
		// An object is requested for the shard that stands in, and for the new volume.
		figure.HasGoal(name+": requests that the origin counted, for each of its objects", row.requested/float64(len(lost)), "requests", figure.AtMost(2)),
		figure.Info(name+": until every 10 s have 95 % of the hit ratio before", float64(row.recovered(row.first(), lossRatio*row.before())), "s")), nil
}

// loseShard deletes a shard's pod and claim, and waits until the shard serves with another volume.
func (o *objectBench) loseShard(ctx context.Context, shard string) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: tier.ClaimName(o.cache.Name, lostShard)}}
	if err := o.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return err
	}
	before := claim.UID
	if err := errors.Join(o.client.Delete(ctx, claim), o.deletePod(ctx, shard)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.patience, fmt.Errorf("%s does not serve with another volume", shard))
	defer cancel()
	for {
		pod := &corev1.Pod{}
		err := errors.Join(o.client.Get(ctx, client.ObjectKeyFromObject(claim), claim),
			o.client.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: shard}, pod))
		if err == nil && claim.UID != before && claim.Status.Phase == corev1.ClaimBound && podReady(pod) {
			return o.waitReady(ctx)
		}
		if err := client.IgnoreNotFound(err); err != nil {
			return err
		}
		if err := pause(ctx, restartPoll); err != nil {
			return err
		}
	}
}
