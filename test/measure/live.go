package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
	"example.com/nginx-operator/test/load/site"
)

const (
	livePods = 10
	// fewPods is the number of pods in which two processors can test a configuration at the same
	// time.
	fewPods = 3
	// liveEdits is the number of edits, with livePause between them.
	liveEdits = 50
	livePause = 500 * time.Millisecond
	// liveRate is the rate of requests for the served revision to all pods together: one every 50
	// ms to each.
	liveRate = 200
	// liveMedian and liveMax are the goals, in seconds.
	liveMedian, liveMax = 0.3, 0.8

	rollingRestarts = 3
	kubeletChanges  = 3
)

// edited is one edit and the time at which it was live.
type edited struct {
	revision string
	made     time.Time
	// reported is the time at which the status said so.
	reported time.Time
	// used is the processor time of this machine meanwhile.
	used time.Duration
}

// measureLive edits a configuration and measures when all pods serve it, both by the status and by
// their responses. For comparison, it measures a rolling restart, and the delay of the kubelet
// alone.
func measureLive(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	few, err := b.measureFew(ctx, s.count(liveEdits/2))
	if err != nil {
		return nil, err
	}
	delays, failed := b.kubeletDelays(ctx)
	nginx, err := b.create(ctx, "web", spec(livePods, b.newest(), site.Site{}.Files("0")))
	if err != nil {
		return nil, err
	}
	before, err := b.pods(ctx, nginx)
	if err != nil {
		return nil, err
	}
	edits, report, err := b.editAll(ctx, nginx, before, s.count(liveEdits))
	if err != nil {
		return nil, err
	}
	restarted, gone, err := b.restarts(ctx, nginx, before)
	if err != nil {
		return nil, err
	}
	figures := append(append(few, liveFigures(livePods, edits, report)...),
		figure.HasGoal("requests failed meanwhile", float64(report.Failed), "requests", figure.AtMost(0), report.Explain()...),
		figure.Info("requests meanwhile", float64(report.Requests), "requests"),
		figure.HasGoal("containers restarted and pods replaced", float64(restarted+gone), "pods", figure.AtMost(0)))
	s.progress("live: rolling restarts")
	rolled, err := b.rollingRestarts(ctx, nginx)
	if err != nil {
		return figures, err
	}
	figures = append(figures,
		figure.Info("a rolling restart of the same application, median", median(rolled), "s", each(rolled)...))
	s.progress("live: waiting for the kubelet's own delay")
	if err := <-failed; err != nil {
		return figures, err
	}
	waited := <-delays
	return append(figures, figure.Info("the kubelet's own delay of a ConfigMap, median", median(waited), "s", each(waited)...)), nil
}

// measureFew makes the edits with an application of few pods, and deletes the application.
func (b *bench) measureFew(ctx context.Context, n int) ([]figure.Figure, error) {
	nginx, err := b.create(ctx, "few", spec(fewPods, b.newest(), site.Site{}.Files("0")))
	if err != nil {
		return nil, err
	}
	pods, err := b.pods(ctx, nginx)
	if err != nil {
		return nil, err
	}
	edits, report, err := b.editAll(ctx, nginx, pods, n)
	if err != nil {
		return nil, err
	}
	return liveFigures(fewPods, edits, report), b.client.Delete(ctx, nginx)
}

// editAll makes the edits while every pod gets requests.
func (b *bench) editAll(ctx context.Context, nginx *v1alpha2.NginxOperator, pods []corev1.Pod, n int) ([]edited, load.Report, error) {
	options := load.Options{
		Rate: liveRate, RevisionHeader: site.RevisionHeader, Revisions: []string{"0"},
		Clients: []load.Clients{{Expect: "revision={revision} {method}\n"}},
	}
	for _, pod := range pods {
		options.Targets = append(options.Targets, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(site.Port)))
	}
	clients, err := b.load(ctx, nginx.Name+"-load", options)
	if err != nil {
		return nil, load.Report{}, err
	}
	var edits []edited
	for i := range n {
		if err := pause(ctx, livePause); err != nil {
			return nil, load.Report{}, err
		}
		e := edited{revision: fmt.Sprint(i + 1)}
		if err := clients.Submit(ctx, e.revision); err != nil {
			return nil, load.Report{}, err
		}
		files := site.Site{}.Files(e.revision)
		before, _, err := process.MachineTime()
		if err != nil {
			return nil, load.Report{}, err
		}
		e.made = time.Now()
		if err := b.edit(ctx, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = config(files) }); err != nil {
			return nil, load.Report{}, err
		}
		if err := b.await(ctx, nginx, "every pod serves edit "+e.revision, live(nginxconf.Revision(files))); err != nil {
			return nil, load.Report{}, err
		}
		e.reported = time.Now()
		after, _, err := process.MachineTime()
		if err != nil {
			return nil, load.Report{}, err
		}
		e.used = after - before
		edits = append(edits, e)
		b.progress("live: edit %d of %d in %.2f s", i+1, n, e.reported.Sub(e.made).Seconds())
	}
	report, err := clients.Stop(ctx)
	return edits, report, err
}

func liveFigures(pods int, edits []edited, report load.Report) []figure.Figure {
	var reported, answered []float64
	var used, took time.Duration
	missing := 0
	for _, e := range edits {
		used, took = used+e.used, took+e.reported.Sub(e.made)
		reported = append(reported, e.reported.Sub(e.made).Seconds())
		if seconds, ok := answeredAfter(e, pods, report); ok {
			answered = append(answered, seconds)
		} else {
			missing++
		}
	}
	figures := []figure.Figure{
		figure.Info("pods", float64(pods), "pods"),
		figure.Info("edits", float64(len(edits)), "edits"),
		figure.HasGoal("edits that not every pod served", float64(missing), "edits", figure.AtMost(0)),
	}
	figures = append(figures, checkLive("the status reports that every pod serves it", reported)...)
	figures = append(figures, checkLive("every pod serves it", answered)...)
	return append(figures,
		figure.Info("processor time of the machine for an edit", used.Seconds()/float64(len(edits)), "s"),
		figure.Info("processors that were busy meanwhile", used.Seconds()/took.Seconds(), "processors"))
}

func checkLive(what string, took []float64) []figure.Figure {
	if len(took) == 0 {
		return nil
	}
	return []figure.Figure{
		figure.HasGoal("edit → "+what+", median", median(took), "s", figure.AtMost(liveMedian)),
		figure.HasGoal("edit → "+what+", maximum", slices.Max(took), "s", figure.AtMost(liveMax)),
	}
}

// answeredAfter returns how long after an edit the last pod first answered with it. It compares the
// clocks of this machine and of the node with the load.
func answeredAfter(e edited, all int, report load.Report) (float64, bool) {
	pods, last := 0, time.Time{}
	for _, seen := range report.Revisions {
		if seen.Name == e.revision {
			pods++
			last = later(last, seen.First)
		}
	}
	return last.Sub(e.made).Seconds(), pods == all
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// rollingRestarts replaces all pods a few times.
func (b *bench) rollingRestarts(ctx context.Context, nginx *v1alpha2.NginxOperator) ([]float64, error) {
	var took []float64
	for i := range rollingRestarts {
		start := time.Now()
		value := fmt.Sprintf("measured %d", i)
		if err := b.edit(ctx, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = &value }); err != nil {
			return nil, err
		}
		if err := b.ready(ctx, nginx); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start).Seconds())
	}
	return took, nil
}

// kubeletDelays changes a ConfigMap and measures when a bare pod that mounts it sees the change. It
// runs in the background, because it takes minutes.
func (b *bench) kubeletDelays(ctx context.Context) (<-chan []float64, <-chan error) {
	delays, failed := make(chan []float64, 1), make(chan error, 1)
	go func() {
		waited, err := b.waitForKubelet(ctx)
		delays <- waited
		failed <- err
	}()
	return delays, failed
}

func (b *bench) waitForKubelet(ctx context.Context) ([]float64, error) {
	const name, key = "bare", "value"
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Data: map[string]string{key: "0"},
	}
	if err := b.client.Create(ctx, object); err != nil {
		return nil, err
	}
	mounted, err := incluster.StartFile(ctx, b.kube, b.namespace, name, b.loadImage, name, key)
	if err != nil {
		return nil, err
	}
	var waited []float64
	for i := range kubeletChanges {
		// Change it at any point of the kubelet's period, like a user's edit.
		if err := pause(ctx, time.Duration(7+11*i)*time.Second); err != nil {
			return waited, err
		}
		object.Data[key] = fmt.Sprint(i + 1)
		start := time.Now()
		if err := b.client.Update(ctx, object); err != nil {
			return waited, err
		}
		for text := ""; text != object.Data[key]; {
			if err := pause(ctx, 250*time.Millisecond); err != nil {
				return waited, err
			}
			if text, err = mounted.Read(ctx); err != nil {
				return waited, err
			}
		}
		waited = append(waited, time.Since(start).Seconds())
	}
	return waited, nil
}

// median returns the median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func each(values []float64) []string {
	var lines []string
	for _, v := range values {
		lines = append(lines, fmt.Sprintf("%.2f s", v))
	}
	return lines
}
