package view

import (
	"bytes"
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/traffic"
)

// Measurer requests what instances have measured.
type Measurer interface {
	Get(ctx context.Context, pod client.ObjectKey, path string, query map[string]string) ([]byte, error)
}

// Traffic is what a pod has served. Latencies are in seconds; 0 if there were no requests.
type Traffic struct {
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// ErrorShare is the share of the requests that were answered with 5xx.
	ErrorShare float64 `json:"errorShare"`
	P50        float64 `json:"p50Seconds"`
	P99        float64 `json:"p99Seconds"`
}

const (
	// window is the time whose traffic is shown, in seconds.
	window = 60
	// patience is how long a pod may take to say what it has measured.
	patience = time.Second
)

// readTraffic reads the traffic of pods.
func readTraffic(ctx context.Context, measurer Measurer, pods []corev1.Pod) (map[string]Traffic, error) {
	windows, err := readWindows(ctx, measurer, pods)
	if err != nil {
		return nil, err
	}
	found := map[string]Traffic{}
	for i, w := range windows {
		if w != nil {
			found[pods[i].Name] = trafficOf(w)
		}
	}
	return found, nil
}

// readWindows reads what pods have served in the last minute, in their order; nil: a pod does not answer.
func readWindows(ctx context.Context, measurer Measurer, pods []corev1.Pod) ([]*instanceapi.RequestWindow, error) {
	return each(ctx, pods, func(ctx context.Context, pod *corev1.Pod) (*instanceapi.RequestWindow, error) {
		text, err := measure(ctx, measurer, pod, instanceapi.PathRequests, map[string]string{instanceapi.ParameterSeconds: strconv.Itoa(window)})
		if text == nil || err != nil {
			return nil, err
		}
		found, err := instanceapi.DecodeWindow(text)
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // An answer that cannot be read is treated as none.
		}
		return &found, nil
	})
}

func trafficOf(w *instanceapi.RequestWindow) Traffic {
	return Traffic{
		RequestsPerSecond: float64(w.Requests) / float64(max(1, w.Seconds)),
		ErrorShare:        float64(w.Errors) / float64(max(1, w.Requests)),
		P50:               w.Latency.Quantile(0.5), P99: w.Latency.Quantile(0.99),
	}
}

// measure requests a path of a pod. It returns nil if the pod does not answer, and an error only if the user may not ask.
func measure(ctx context.Context, measurer Measurer, pod *corev1.Pod, path string, query map[string]string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := measurer.Get(ctx, client.ObjectKeyFromObject(pod), path, query)
	if apierrors.IsForbidden(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilnil // The pod may be starting, ending, or on a node that is cut off.
	}
	return text, nil
}

// ReadMetrics reads the metrics of pods, in their order; nil: a pod does not answer.
func ReadMetrics(ctx context.Context, measurer Measurer, pods []corev1.Pod) ([]*traffic.Pod, error) {
	return each(ctx, pods, func(ctx context.Context, pod *corev1.Pod) (*traffic.Pod, error) {
		text, err := measure(ctx, measurer, pod, instanceapi.PathMetrics, nil)
		if text == nil || err != nil {
			return nil, err
		}
		found, err := traffic.Parse(bytes.NewReader(text))
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // Metrics that cannot be read are treated as none.
		}
		return &found, nil
	})
}
