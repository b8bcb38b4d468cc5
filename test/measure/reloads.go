package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load/site"
)

const (
	reloadCount = 1000
	// reloadWarmUp is the number of reloads before the first measurement: memory that is allocated
	// once and kept is not growth.
	reloadWarmUp = 20
	reloadRate   = 300
	// reloadGrowth is the goal, in percent.
	reloadGrowth = 10
)

// measureReloads reloads one pod many times under load and compares its memory.
func measureReloads(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	t := &trafficBench{bench: b}
	declared := spec(1, b.newest(), t.site.Files(t.revision()))
	// Old workers must be gone when the memory is compared.
	declared.Drain = &v1alpha2.Drain{TimeoutSeconds: new(int32(5))}
	if t.nginx, err = b.create(ctx, "web", declared); err != nil {
		return nil, err
	}
	pods, err := b.pods(ctx, t.nginx)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("there are %d pods", len(pods))
	}
	address, err := b.address(ctx, t.nginx, site.Port)
	if err != nil {
		return nil, err
	}
	options := t.site.Options(reloadRate, address)
	options.Revisions = []string{t.revision()}
	if t.running, err = b.load(ctx, "load", options); err != nil {
		return nil, err
	}
	figures, failed := t.reloadAll(ctx, &pods[0], s.count(reloadCount))
	report, err := t.running.Stop(ctx)
	restarted, gone, counted := b.restarts(ctx, t.nginx, pods)
	return append(figures,
		figure.Info("requests meanwhile", float64(report.Requests), "requests"),
		figure.HasGoal("requests failed meanwhile", float64(report.Failed), "requests", figure.AtMost(0), report.Explain()...),
		figure.HasGoal("containers restarted and pods replaced", float64(restarted+gone), "pods", figure.AtMost(0)),
	), errors.Join(failed, err, counted)
}

func (t *trafficBench) reloadAll(ctx context.Context, pod *corev1.Pod, n int) ([]figure.Figure, error) {
	if err := t.reload(ctx, pod, reloadWarmUp); err != nil {
		return nil, err
	}
	first, err := t.settledMemory(ctx, pod)
	if err != nil {
		return nil, err
	}
	status, err := t.instanceStatus(ctx, pod)
	if err != nil {
		return nil, err
	}
	before := status.Reloads.Succeeded
	start := time.Now()
	t.trace = nil
	if err := t.reload(ctx, pod, n); err != nil {
		return nil, err
	}
	took := time.Since(start)
	last, err := t.settledMemory(ctx, pod)
	if err != nil {
		return nil, err
	}
	if status, err = t.instanceStatus(ctx, pod); err != nil {
		return nil, err
	}
	growth := func(before, after float64) float64 { return 100 * (after - before) / before }
	return []figure.Figure{
		figure.HasGoal("reloads, as the instance counts them", float64(status.Reloads.Succeeded-before), "reloads", figure.AtLeast(float64(n))),
		figure.HasGoal("reloads failed", float64(status.Reloads.Failed), "reloads", figure.AtMost(0)),
		figure.Info("a reload, edit to live", took.Seconds()/float64(n), "s"),
		figure.Info("memory of the pod before, working set", figure.MiB(int64(first.workingSet)), "MiB"),
		figure.Info("memory of the pod afterwards, working set", figure.MiB(int64(last.workingSet)), "MiB"),
		figure.HasGoal("growth, working set", growth(first.workingSet, last.workingSet), "%", figure.AtMost(reloadGrowth), t.trace...),
		figure.Info("memory of the pod before, resident", figure.MiB(int64(first.resident)), "MiB"),
		figure.Info("memory of the pod afterwards, resident", figure.MiB(int64(last.resident)), "MiB"),
		figure.HasGoal("growth, resident", growth(first.resident, last.resident), "%", figure.AtMost(reloadGrowth)),
		figure.HasGoal("workers of earlier configurations afterwards", float64(status.Workers.Exiting), "workers", figure.AtMost(0)),
	}, nil
}

// reload makes n edits that each go live, and reads the memory from time to time: growth that stops
// is not a leak.
func (t *trafficBench) reload(ctx context.Context, pod *corev1.Pod, n int) error {
	peak := 0
	for i := range n {
		t.revisions++
		if err := t.running.Submit(ctx, t.revision()); err != nil {
			return err
		}
		files := t.site.Files(t.revision())
		if err := t.edit(ctx, t.nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(files) }); err != nil {
			return err
		}
		if err := t.await(ctx, t.nginx, "the configuration is live", live(nginxconf.Revision(files))); err != nil {
			return err
		}
		if i%50 != 49 {
			continue
		}
		status, err := t.instanceStatus(ctx, pod)
		if err != nil {
			return err
		}
		peak = max(peak, status.Workers.Exiting)
		now, err := t.memoryNow(ctx, pod)
		if err != nil {
			return err
		}
		t.trace = append(t.trace, fmt.Sprintf("after %d reloads: working set %.1f MiB, resident %.1f MiB",
			i+1, figure.MiB(int64(now.workingSet)), figure.MiB(int64(now.resident))))
		t.progress("reloads: %d of %d, at most %d old workers", i+1, n, peak)
	}
	return nil
}

// settledMemory reads the memory when the workers of earlier configurations are gone.
func (t *trafficBench) settledMemory(ctx context.Context, pod *corev1.Pod) (memory, error) {
	if err := pause(ctx, 15*time.Second); err != nil {
		return memory{}, err
	}
	return t.podMemory(ctx, pod)
}
