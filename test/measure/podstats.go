package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/instanceapi"
)

// memory is the memory of a pod, as its kubelet measures it.
type memory struct {
	// workingSet decides about evictions; resident is what the processes really hold.
	workingSet, resident float64
}

// podMemory reads the kubelet's values several times and returns the medians, because nginx may at
// one moment have two generations of workers.
func (b *bench) podMemory(ctx context.Context, pod *corev1.Pod) (memory, error) {
	const samples, apart = 5, 11 * time.Second
	var sets, residents []float64
	for i := range samples {
		if i > 0 {
			if err := pause(ctx, apart); err != nil {
				return memory{}, err
			}
		}
		m, err := b.memoryNow(ctx, pod)
		if err != nil {
			return memory{}, err
		}
		sets, residents = append(sets, m.workingSet), append(residents, m.resident)
	}
	return memory{median(sets), median(residents)}, nil
}

func (b *bench) memoryNow(ctx context.Context, pod *corev1.Pod) (memory, error) {
	text, err := b.kube.CoreV1().RESTClient().Get().Resource("nodes").Name(pod.Spec.NodeName).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
	if err != nil {
		return memory{}, err
	}
	var summary struct {
		Pods []struct {
			PodRef struct {
				UID string `json:"uid"`
			} `json:"podRef"`
			Memory struct {
				WorkingSetBytes float64 `json:"workingSetBytes"`
				RSSBytes        float64 `json:"rssBytes"`
			} `json:"memory"`
		} `json:"pods"`
	}
	if err := json.Unmarshal(text, &summary); err != nil {
		return memory{}, err
	}
	for _, p := range summary.Pods {
		if p.PodRef.UID == string(pod.UID) && p.Memory.WorkingSetBytes > 0 {
			return memory{p.Memory.WorkingSetBytes, p.Memory.RSSBytes}, nil
		}
	}
	return memory{}, fmt.Errorf("the kubelet of %s does not report pod %s", pod.Spec.NodeName, pod.Name)
}

// instance sends a request to the instance manager of a pod.
func (b *bench) instance(ctx context.Context, pod *corev1.Pod, path string) ([]byte, error) {
	return b.kube.CoreV1().RESTClient().Get().Namespace(pod.Namespace).Resource("pods").
		Name(pod.Name + ":" + strconv.Itoa(instanceapi.Port)).SubResource("proxy").Suffix(path).DoRaw(ctx)
}

func (b *bench) instanceStatus(ctx context.Context, pod *corev1.Pod) (instanceapi.Status, error) {
	var status instanceapi.Status
	text, err := b.instance(ctx, pod, instanceapi.PathStatus)
	if err != nil {
		return status, err
	}
	return status, json.Unmarshal(text, &status)
}

// metric returns the sum of all series of a metric of a pod's instance manager.
func (b *bench) metric(ctx context.Context, pod *corev1.Pod, name string) (float64, error) {
	text, err := b.instance(ctx, pod, instanceapi.PathMetrics)
	if err != nil {
		return 0, err
	}
	sum, ok, err := sumOf(text, name)
	if !ok {
		err = errors.Join(err, fmt.Errorf("pod %s has no metric %s", pod.Name, name))
	}
	return sum, err
}

// sumOf adds up the series of a metric in the Prometheus text format.
func sumOf(text []byte, name string) (sum float64, ok bool, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, value, found := cutLast(lines.Text(), " ")
		if !found || strings.HasPrefix(series, "#") || series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, false, err
		}
		sum, ok = sum+number, true
	}
	return sum, ok, lines.Err()
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
