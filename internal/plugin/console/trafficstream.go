package console

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/traffic"
)

const (
	// sampleInterval is how often the metrics of each pod are read. With many pods it is longer, so that there are at most
	// samplesPerSecond requests a second.
	sampleInterval   = 2 * time.Second
	samplesPerSecond = 10
	// parallelSamples is how many pods are read at the same time.
	parallelSamples = 8
	// sampleTimeout bounds the wait for a pod.
	sampleTimeout = 2 * time.Second
)

// sample is a line of the stream of the traffic.
type sample struct {
	At    time.Time     `json:"at"`
	Total traffic.Rates `json:"total"`
	// Pods have the rates of each pod, and Serving its configuration.
	Pods    map[string]traffic.Rates `json:"pods"`
	Serving map[string]string        `json:"serving"`
	// Silent says of pods that cannot be read why.
	Silent map[string]string `json:"silent,omitempty"`
	// Next is how long until the next sample, in milliseconds.
	Next int64 `json:"next"`
}

// traffic streams what the pods of an application serve, through the API server's proxy of pods.
func (c *console) traffic(ctx context.Context, r *http.Request, v *Viewer, s *stream) error {
	namespace := r.PathValue("namespace")
	running := followRunning(ctx, v, namespace, r.PathValue("name"))
	t := &sampler{viewer: v, namespace: namespace, before: map[string]reading{}}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-running.changes.failed:
			return running.changes.err
		case <-running.synced:
		}
		pods := running.names()
		interval := max(sampleInterval, time.Second*time.Duration(len(pods))/samplesPerSecond)
		taken := t.take(ctx, pods)
		taken.Next = interval.Milliseconds()
		if err := s.send(taken); err != nil {
			return err
		}
		if !wait(ctx, interval) {
			return nil
		}
	}
}

// reading is what a pod had counted at a time.
type reading struct {
	at     time.Time
	counts traffic.Counts
}

type sampler struct {
	viewer    *Viewer
	namespace string
	before    map[string]reading
}

// take reads all pods, and returns what they have served since they were read before.
func (t *sampler) take(ctx context.Context, pods []string) sample {
	taken := sample{At: time.Now().UTC(), Pods: map[string]traffic.Rates{}, Serving: map[string]string{}, Silent: map[string]string{}}
	now, silent := t.readAll(ctx, pods)
	total, seconds := traffic.Counts{}, 0.0
	for pod, r := range now {
		taken.Serving[pod] = r.counts.Serving
		before, known := t.before[pod]
		if !known {
			continue
		}
		passed := r.at.Sub(before.at).Seconds()
		served := r.counts.Since(before.counts)
		taken.Pods[pod] = served.Over(passed)
		total, seconds = total.Plus(served), max(seconds, passed)
	}
	for pod, err := range silent {
		_, text := explain(err)
		taken.Silent[pod] = text.Message
	}
	taken.Total = total.Over(seconds)
	t.before = now
	return taken
}

// readAll reads pods, some at a time.
func (t *sampler) readAll(ctx context.Context, pods []string) (map[string]reading, map[string]error) {
	read, silent := map[string]reading{}, map[string]error{}
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan struct{}, parallelSamples)
	for _, pod := range pods {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			counts, err := t.read(ctx, pod)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent[pod] = err
				return
			}
			read[pod] = reading{time.Now(), counts}
		})
	}
	group.Wait()
	return read, silent
}

// read reads the metrics of a pod.
func (t *sampler) read(ctx context.Context, pod string) (traffic.Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	metrics, err := t.viewer.pods.Get(ctx, types.NamespacedName{Namespace: t.namespace, Name: pod}, instanceapi.PathMetrics, nil)
	if err != nil {
		return traffic.Counts{}, err
	}
	found, err := traffic.Parse(bytes.NewReader(metrics))
	return found.Counts, err
}
