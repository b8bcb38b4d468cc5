package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/site"
)

const (
	// instanceMemory is the goal for an idle instance in MiB, and instanceRest the time until it is
	// measured.
	instanceMemory = 15
	instanceRest   = 30 * time.Second
	// instanceRate is the rate of requests at which the processor time is measured.
	instanceRate   = 10_000
	instanceWindow = 20 * time.Second
	// instanceRounds is the number of alternating rounds that compare the speed with and without
	// request metrics, because the speed of the machine varies.
	instanceRounds = 3

	requestsMetric = "nginx_http_requests_total"
)

// measureInstance measures the cost of the instance manager.
func measureInstance(ctx context.Context, s *session) ([]figure.Figure, error) {
	size, err := instanceSize(ctx)
	if err != nil {
		return nil, err
	}
	figures := []figure.Figure{figure.Info("size of the program", size, "MiB")}
	b, err := s.bench(ctx)
	if err != nil {
		return figures, err
	}
	counting, err := b.instancePod(ctx, "counting", nil)
	if err != nil {
		return figures, err
	}
	silent, err := b.instancePod(ctx, "silent", new(false))
	if err != nil {
		return figures, err
	}
	s.progress("instance: at rest for %s", instanceRest)
	if err := pause(ctx, instanceRest); err != nil {
		return figures, err
	}
	rest, err := b.processOne(ctx, &counting.pod)
	if err != nil {
		return figures, err
	}
	figures = append(figures, figure.HasGoal("resident memory at rest", rest.resident/(1<<20), "MiB", figure.AtMost(instanceMemory)),
		figure.Info("of which not shared with other pods of the node", rest.anonymous/(1<<20), "MiB"))
	for _, p := range []*instancePod{counting, silent} {
		s.progress("instance: %d requests/s on %s", instanceRate, p.name)
		found, err := b.share(ctx, p)
		figures = append(figures, found...)
		if err != nil {
			return figures, err
		}
	}
	s.progress("instance: as many requests as possible")
	found, err := b.compare(ctx, counting, silent)
	return append(figures, found...), err
}

// instanceSize builds the program with the flags of a release, and returns its size in MiB.
func instanceSize(ctx context.Context) (float64, error) {
	dir, err := os.MkdirTemp("", "measure-instance-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "nginx-instance")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "example.com/nginx-operator/cmd/nginx-instance")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build nginx-instance: %w: %s", err, output)
	}
	info, err := os.Stat(program)
	if err != nil {
		return 0, err
	}
	return figure.MiB(info.Size()), nil
}

// instancePod is an application with one pod.
type instancePod struct {
	name    string
	pod     corev1.Pod
	address string
	loads   int
}

func (b *bench) instancePod(ctx context.Context, name string, requests *bool) (*instancePod, error) {
	declared := spec(1, b.newest(), site.Site{}.Files("0"))
	if requests != nil {
		declared.Metrics = &v1alpha2.Metrics{Requests: requests}
	}
	nginx, err := b.create(ctx, name, declared)
	if err != nil {
		return nil, err
	}
	pods, err := b.pods(ctx, nginx)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("%s has %d pods", name, len(pods))
	}
	address, err := b.address(ctx, nginx, site.Port)
	return &instancePod{name: name, pod: pods[0], address: address}, err
}

// press puts load on the pod for a while; rate 0: as much as possible.
func (b *bench) press(ctx context.Context, p *instancePod, rate float64) (load.Report, error) {
	p.loads++
	running, err := b.load(ctx, fmt.Sprintf("load-%s-%d", p.name, p.loads), load.Options{
		Targets: []string{p.address}, Rate: rate, RevisionHeader: site.RevisionHeader,
		Clients: []load.Clients{{Count: 32, KeepAlive: true, Expect: "revision={revision} {method}\n"}},
	})
	if err != nil {
		return load.Report{}, err
	}
	if err := pause(ctx, instanceWindow); err != nil {
		return load.Report{}, err
	}
	return running.Stop(ctx)
}

// share measures the processor time of the instance manager under load.
func (b *bench) share(ctx context.Context, p *instancePod) ([]figure.Figure, error) {
	before, err := b.processOne(ctx, &p.pod)
	if err != nil {
		return nil, err
	}
	counted, _ := b.metric(ctx, &p.pod, requestsMetric)
	report, err := b.press(ctx, p, instanceRate)
	if err != nil {
		return nil, err
	}
	after, err := b.processOne(ctx, &p.pod)
	if err != nil {
		return nil, err
	}
	took, spent := report.Ended.Sub(report.Started).Seconds(), after.processor-before.processor
	name := p.name + ": "
	figures := []figure.Figure{
		figure.Info(name+"requests made", report.Rate(), "requests/s"),
		figure.Info(name+"its share of one processor", 100*spent/took, "%"),
		figure.Info(name+"its processor time per request", 1e6*spent/float64(report.Requests), "µs"),
		figure.Info(name+"its resident memory afterwards", after.resident/(1<<20), "MiB"),
		figure.HasGoal(name+"requests failed", float64(report.Failed), "requests", figure.AtMost(0), report.Explain()...),
	}
	if now, err := b.metric(ctx, &p.pod, requestsMetric); err == nil {
		figures = append(figures, figure.Info(name+"requests that it counted", 100*(now-counted)/float64(report.Requests), "%"))
	}
	return figures, nil
}

// compare compares how many requests nginx answers with and without request metrics.
func (b *bench) compare(ctx context.Context, counting, silent *instancePod) ([]figure.Figure, error) {
	rates := map[*instancePod][]float64{}
	before, err := b.metric(ctx, &counting.pod, requestsMetric)
	made := 0.
	if err != nil {
		return nil, err
	}
	for range instanceRounds {
		for _, p := range []*instancePod{counting, silent} {
			report, err := b.press(ctx, p, 0)
			if err != nil {
				return nil, err
			}
			rates[p] = append(rates[p], report.Rate())
			if p == counting {
				made += float64(report.Requests)
			}
		}
	}
	if err := pause(ctx, logFlushed); err != nil {
		return nil, err
	}
	after, err := b.metric(ctx, &counting.pod, requestsMetric)
	if err != nil {
		return nil, err
	}
	with, without := median(rates[counting]), median(rates[silent])
	lines := func(p *instancePod) []string {
		var all []string
		for _, r := range rates[p] {
			all = append(all, fmt.Sprintf("%.0f requests/s", r))
		}
		return all
	}
	return []figure.Figure{
		figure.Info("as many requests as possible, with request metrics", with, "requests/s", lines(counting)...),
		figure.Info("as many requests as possible, without", without, "requests/s", lines(silent)...),
		figure.HasGoal("the cost of request metrics", 100*(without-with)/without, "%", figure.AtMost(logPrice)),
		figure.HasGoal("uncounted requests meanwhile", made-(after-before), "requests", figure.AtMost(0)),
	}, nil
}
