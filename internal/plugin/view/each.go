package view

import (
	"context"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
)

// atOnce is how many pods are queried at the same time.
const atOnce = 16

// each queries pods, and returns the answers in the order of the pods.
func each[T any](ctx context.Context, pods []corev1.Pod, query func(context.Context, *corev1.Pod) (T, error)) ([]T, error) {
	answers := make([]T, len(pods))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range pods {
		group.Go(func() (err error) {
			answers[i], err = query(ctx, &pods[i])
			return err
		})
	}
	return answers, group.Wait()
}
