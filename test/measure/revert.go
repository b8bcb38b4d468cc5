package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/site"
)

const (
	// reverts is the number of returns to the good configuration, each after revertAttempts edits in a row.
	reverts        = 50
	revertAttempts = 3
	// revertLimit is the goal for each return, in seconds.
	revertLimit = 1
	// revertSync is how long a kubelet takes to deliver changed files after a pod was annotated.
	revertSync = 4 * time.Second
	// revertWait bounds the random time between the last attempt and the return.
	revertWait = 8 * time.Second
)

// measureRevert returns to the last good configuration again and again, after a few attempts in a row that did not help. In
// every other round, the kubelets deliver in the meantime what makes the pods delete the files of the good configuration.
func measureRevert(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	good := site.Site{}.Files("good")
	nginx, err := b.create(ctx, "web", spec(livePods, b.newest(), good))
	if err != nil {
		return nil, err
	}
	before, err := b.pods(ctx, nginx)
	if err != nil {
		return nil, err
	}
	options := load.Options{Rate: liveRate, Clients: []load.Clients{{}}}
	for _, pod := range before {
		options.Targets = append(options.Targets, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(site.Port)))
	}
	clients, err := b.load(ctx, "load", options)
	if err != nil {
		return nil, err
	}
	var took []float64
	for i := range s.count(reverts) {
		seconds, err := b.revert(ctx, nginx, good, i)
		if err != nil {
			return nil, err
		}
		took = append(took, seconds)
		s.progress("revert: %d in %.2f s", i+1, seconds)
	}
	report, err := clients.Stop(ctx)
	if err != nil {
		return nil, err
	}
	restarted, gone, err := b.restarts(ctx, nginx, before)
	return []figure.Figure{
		figure.Info("returns to the good configuration", float64(len(took)), "returns"),
		figure.Info("edit → all 10 pods serve it, median", median(took), "s"),
		figure.HasGoal("edit → all 10 pods serve it, maximum", slices.Max(took), "s", figure.AtMost(revertLimit), each(took)...),
		figure.HasGoal("requests failed meanwhile", float64(report.Failed), "requests", figure.AtMost(0), report.Explain()...),
		figure.Info("requests meanwhile", float64(report.Requests), "requests"),
		figure.HasGoal("containers restarted and pods replaced", float64(restarted+gone), "pods", figure.AtMost(0)),
	}, err
}

// revert makes a few edits in a row, and returns to the good configuration. It returns the seconds until all pods serve it.
func (b *bench) revert(ctx context.Context, nginx *v1alpha2.NginxOperator, good map[string]string, round int) (float64, error) {
	if err := b.deliver(ctx, nginx); err != nil {
		return 0, err
	}
	for attempt := range revertAttempts {
		if _, err := b.goLive(ctx, nginx, site.Site{}.Files(fmt.Sprintf("attempt-%d-%d", round, attempt))); err != nil {
			return 0, err
		}
	}
	if round%2 == 0 {
		if err := b.deliver(ctx, nginx); err != nil {
			return 0, err
		}
	}
	if err := pause(ctx, rand.N(revertWait)); err != nil {
		return 0, err
	}
	return b.goLive(ctx, nginx, good)
}

// goLive edits the configuration, and returns the seconds until all pods serve it.
func (b *bench) goLive(ctx context.Context, nginx *v1alpha2.NginxOperator, files map[string]string) (float64, error) {
	start := time.Now()
	if err := b.edit(ctx, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(files) }); err != nil {
		return 0, err
	}
	err := b.await(ctx, nginx, "every pod serves the edit", live(nginxconf.Revision(files)))
	return time.Since(start).Seconds(), err
}

// deliver makes the kubelets deliver what the pods mount.
func (b *bench) deliver(ctx context.Context, nginx *v1alpha2.NginxOperator) error {
	pods, err := b.pods(ctx, nginx)
	if err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/delivered":"%d"}}}`, time.Now().UnixNano()))
	for i := range pods {
		if err := b.client.Patch(ctx, &pods[i], patch); err != nil {
			return err
		}
	}
	return pause(ctx, revertSync)
}
