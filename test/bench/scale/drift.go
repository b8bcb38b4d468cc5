package scale

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/nginx/naming"
)

// mostDrifts bounds the number of objects that are changed.
const mostDrifts = 200

// drift has the results of changes by another client.
type drift struct {
	phase
	// latencies are the times from before the write until a watch shows the correction, shortest
	// first.
	latencies latencies
}

// drift changes the replicas of Deployments one after the other, like `kubectl scale`. The
// Deployments belong to objects that are spread evenly.
func (b *bench) drift(ctx context.Context, result *Result) (err error) {
	d := &result.drift
	n := min(b.Objects, mostDrifts)
	d.phase, err = b.phase(ctx, fmt.Sprintf("drift of %d", n), func(ctx context.Context) error {
		for i := range n {
			latency, err := b.tamper(ctx, b.spread(i, n).Name)
			if err != nil {
				return err
			}
			d.latencies = append(d.latencies, latency)
		}
		return nil
	})
	slices.Sort(d.latencies)
	return err
}

// tamper changes a Deployment, and returns the time until the operator has corrected it.
func (b *bench) tamper(ctx context.Context, name string) (time.Duration, error) {
	watcher, err := b.plane.watching.Watch(ctx, &appsv1.DeploymentList{},
		client.InNamespace(namespace), client.MatchingFields{metav1.ObjectNameField: naming.Workload(name)})
	if err != nil {
		return 0, err
	}
	defer watcher.Stop()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: naming.Workload(name)}}
	if err := b.plane.Client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
		return 0, err
	}
	want := *deployment.Spec.Replicas
	start := time.Now()
	if err := b.plane.Client.Patch(ctx, deployment, merge(fmt.Sprintf(`{"spec":{"replicas":%d}}`, want+4)), client.FieldOwner("another-client")); err != nil {
		return 0, err
	}
	return b.putBack(ctx, watcher, deployment.Generation, want, start)
}

// putBack waits for a generation later than the changed one.
func (b *bench) putBack(ctx context.Context, watcher watch.Interface, tampered int64, want int32, start time.Time) (time.Duration, error) {
	for {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case event, open := <-watcher.ResultChan():
			if !open {
				return 0, fmt.Errorf("the watch ended before the drift was corrected")
			}
			d, ok := event.Object.(*appsv1.Deployment)
			if ok && d.Generation > tampered && *d.Spec.Replicas == want {
				return time.Since(start), nil
			}
		}
	}
}

// latencies are the times that something took, shortest first.
type latencies []time.Duration

// quantile returns the latency that the given share of all does not exceed.
func (l latencies) quantile(share float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(share*float64(len(l))))]
}
