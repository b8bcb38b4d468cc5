package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
)

// restartPoll is the time between two checks of the rollout.
const restartPoll = 500 * time.Millisecond

// measureRestart replaces the operator's pods and counts requests from the start: a new leader that
// finds something to write does so as soon as it takes over.
func measureRestart(ctx context.Context, s *session) ([]figure.Figure, error) {
	fleet, err := s.fleet(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	s.progress("restart: replacing the operator's pods")
	patient, cancel := context.WithTimeoutCause(ctx, s.patience, fmt.Errorf("the restarted operator does not lead within %s", s.patience))
	defer cancel()
	leader, err := fleet.restartOperator(patient)
	if err != nil {
		return nil, err
	}
	tookOver := time.Now()
	s.progress("restart: %s leads, observing for %s", leader, s.window)
	if err := pause(ctx, s.window); err != nil {
		return nil, err
	}
	requests, err := fleet.requests(start, tookOver.Add(s.window))
	if err != nil {
		return nil, err
	}
	figures, err := fleet.figures(ctx)
	if err != nil {
		return nil, err
	}
	figures = append(figures,
		figure.Info("until the new pods were ready and led", tookOver.Sub(start).Seconds(), "s"),
		figure.Info("then observed for", s.window.Seconds(), "s"),
		count(requests, audit.Write, figure.AtMost(0)),
		fleet.share(requests),
		count(requests, audit.Read, figure.Goal{}),
	)
	return append(figures, asides(requests)...), nil
}

// restartOperator does the same as `kubectl rollout restart`, and waits until a new pod leads and
// has read everything. It returns the name of that pod.
func (c *cluster) restartOperator(ctx context.Context) (string, error) {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	return c.replaceOperator(ctx, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// replaceOperator changes the template of the operator's pods, and waits until a new pod leads and
// has read everything. It returns the name of that pod.
func (c *cluster) replaceOperator(ctx context.Context, patch client.Patch) (string, error) {
	before, err := c.leader(ctx)
	if err != nil {
		return "", err
	}
	deployment, err := c.deployment(ctx)
	if err != nil {
		return "", err
	}
	start := time.Now()
	if err := c.client.Patch(ctx, deployment, patch); err != nil {
		return "", err
	}
	for {
		leader, err := c.newLeader(ctx, before, start)
		if err != nil || leader != "" {
			return leader, err
		}
		if err := pause(ctx, restartPoll); err != nil {
			return "", err
		}
	}
}

// newLeader returns the leading pod if it is not the earlier one, the old pods are gone, and it has
// read the objects that it manages; empty: not yet.
func (c *cluster) newLeader(ctx context.Context, before string, since time.Time) (string, error) {
	deployment, err := c.deployment(ctx)
	if err != nil || !rolledOut(deployment) {
		return "", err
	}
	holder, err := c.leader(ctx)
	if err != nil || holder == "" || holder == before {
		return "", err
	}
	// The identity is the name of the pod and a random part.
	pod, _, ok := strings.Cut(holder, "_")
	if !ok {
		return "", fmt.Errorf("the holder of the lease, %s, does not begin with the name of a pod", holder)
	}
	requests, err := c.requests(since, time.Time{})
	if err != nil {
		return "", err
	}
	if !reads(requests[audit.Read], pod) {
		return "", errors.Join(err, ctx.Err())
	}
	return pod, nil
}

// reads reports whether a pod has listed all NginxOperators.
func reads(requests []audit.Event, pod string) bool {
	for _, e := range requests {
		if e.Pod() == pod && e.Lists() && e.Resource() == "nginxoperators" {
			return true
		}
	}
	return false
}
