package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/plugin/traffic"
)

// Load is what an application, a pod or a server block has to do.
type Load struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Pods is how many pods there are, and Answering how many of them say what they do.
	Pods      int `json:"pods,omitempty"`
	Answering int `json:"answering,omitempty"`
	traffic.Rates
	Connections float64 `json:"connections,omitempty"`
	// Memory is that of nginx, in bytes.
	Memory float64 `json:"memoryBytes,omitempty"`

	counts  traffic.Counts
	seconds float64
}

// Top is what applications, or the pods and server blocks of one, do during an interval.
type Top struct {
	Applications []Load `json:"applications,omitempty"`
	Pods         []Load `json:"pods,omitempty"`
	Servers      []Load `json:"servers,omitempty"`
	// LeftOut is the number of applications that are not measured, because at most MostPods pods are queried.
	LeftOut  int `json:"leftOut,omitempty"`
	MostPods int `json:"-"`
	// Silent says why pods cannot be read.
	Silent []string `json:"silent,omitempty"`
	// Total is how many pods are measured.
	Total int `json:"-"`
}

// ReadTop reads what the pods of the applications do during an interval.
func ReadTop(ctx context.Context, measurer Measurer, pods []corev1.Pod, interval time.Duration) (Top, error) {
	start := time.Now()
	before, err := readMetrics(ctx, measurer, pods)
	if err != nil {
		return Top{}, err
	}
	select {
	case <-time.After(interval - time.Since(start)):
	case <-ctx.Done():
		return Top{}, ctx.Err()
	}
	seconds := time.Since(start).Seconds()
	after, err := readMetrics(ctx, measurer, pods)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return Top{}, err
	}
	return sum(pods, before, after, seconds), nil
}

// sum adds up what pods have done between two readings.
func sum(pods []corev1.Pod, before, after []reading[traffic.Pod], seconds float64) Top {
	applications, servers := map[client.ObjectKey]Load{}, map[client.ObjectKey]Load{}
	top := Top{Silent: silentIn(before, after)}
	for i := range pods {
		pod := &pods[i]
		of := applicationKey(pod)
		one := Load{Namespace: pod.Namespace, Name: pod.Name, Pods: 1, seconds: seconds}
		if first, last := before[i].value, after[i].value; first != nil && last != nil {
			one.Answering, one.Connections, one.Memory = 1, last.Connections, last.Memory
			one.counts = last.Since(first.Counts)
			for name, counts := range last.Servers {
				key := client.ObjectKey{Namespace: of.String(), Name: name}
				servers[key] = servers[key].plus(Load{Name: name, counts: counts.Since(first.Servers[name]), seconds: seconds})
			}
		}
		top.Pods = append(top.Pods, one)
		application := applications[of].plus(one)
		application.Namespace, application.Name = of.Namespace, of.Name
		applications[of] = application
	}
	top.Applications, top.Servers = slices.Collect(maps.Values(applications)), slices.Collect(maps.Values(servers))
	for _, loads := range [][]Load{top.Applications, top.Pods, top.Servers} {
		finish(loads)
	}
	return top
}

// silentIn returns why pods cannot be read in one of two readings, or in both.
func silentIn(before, after []reading[traffic.Pod]) []string {
	silent := slices.Clone(after)
	for i := range silent {
		silent[i].err = cmp.Or(silent[i].err, before[i].err)
	}
	return reasons(silent)
}

func (l Load) plus(other Load) Load {
	return Load{
		Name: other.Name, Pods: l.Pods + other.Pods, Answering: l.Answering + other.Answering,
		Connections: l.Connections + other.Connections, Memory: l.Memory + other.Memory,
		counts: l.counts.Plus(other.counts), seconds: other.seconds,
	}
}

// finish computes the rates, and sorts by them.
func finish(loads []Load) {
	for i := range loads {
		loads[i].Rates = loads[i].counts.Over(loads[i].seconds)
	}
	TopOrder[0].Sort(loads, LoadByName)
}
