package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/messages"
	"example.com/nginx-operator/internal/nginx/observe"
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
	// mostReason is how long the reason why a pod cannot be read may be, in bytes.
	mostReason = 300
)

// reading is what was read from a pod, or why it cannot be read.
type reading[T any] struct {
	// value is nil if err is set.
	value *T
	err   error
}

// reasons returns why pods cannot be read.
func reasons[T any](readings []reading[T]) (all []string) {
	for _, r := range readings {
		if r.err != nil {
			all = append(all, messages.Shorten(r.err.Error(), mostReason))
		}
	}
	return all
}

// readTraffic reads the traffic of pods, and returns why that of ready pods cannot be read.
func readTraffic(ctx context.Context, measurer Measurer, pods []corev1.Pod) (found map[string]Traffic, silent []string, err error) {
	windows, err := readWindows(ctx, measurer, pods)
	if err != nil {
		return nil, nil, err
	}
	found = map[string]Traffic{}
	for i := range windows {
		switch w := &windows[i]; {
		case w.value != nil:
			found[pods[i].Name] = trafficOf(w.value)
		case !observe.Ready(&pods[i]) || pods[i].DeletionTimestamp != nil:
			// It is starting or ending.
			w.err = nil
		}
	}
	return found, reasons(windows), nil
}

// readWindows reads what pods have served in the last minute, in their order.
func readWindows(ctx context.Context, measurer Measurer, pods []corev1.Pod) ([]reading[instanceapi.RequestWindow], error) {
	query := map[string]string{instanceapi.ParameterSeconds: strconv.Itoa(window)}
	return read(ctx, measurer, pods, instanceapi.PathRequests, query, instanceapi.DecodeWindow)
}

// readMetrics reads the metrics of pods, in their order.
func readMetrics(ctx context.Context, measurer Measurer, pods []corev1.Pod) ([]reading[traffic.Pod], error) {
	return read(ctx, measurer, pods, instanceapi.PathMetrics, nil, func(text []byte) (traffic.Pod, error) {
		return traffic.Parse(bytes.NewReader(text))
	})
}

// read requests a path of pods. An error means that the user has no right to.
func read[T any](ctx context.Context, measurer Measurer, pods []corev1.Pod, path string, query map[string]string, decode func([]byte) (T, error)) ([]reading[T], error) {
	return each(ctx, pods, func(ctx context.Context, pod *corev1.Pod) (reading[T], error) {
		text, err := measure(ctx, measurer, pod, path, query)
		if err != nil {
			return reading[T]{err: err}, onlyForbidden(err)
		}
		value, err := decode(text)
		if err != nil {
			return reading[T]{err: fmt.Errorf("pod %s: the answer cannot be read: %w", pod.Name, err)}, nil
		}
		return reading[T]{value: &value}, nil
	})
}

func trafficOf(w *instanceapi.RequestWindow) Traffic {
	return Traffic{
		RequestsPerSecond: float64(w.Requests) / float64(max(1, w.Seconds)),
		ErrorShare:        float64(w.Errors) / float64(max(1, w.Requests)),
		P50:               w.Latency.Quantile(0.5), P99: w.Latency.Quantile(0.99),
	}
}

// measure requests a path of a pod.
func measure(ctx context.Context, measurer Measurer, pod *corev1.Pod, path string, query map[string]string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := measurer.Get(ctx, client.ObjectKeyFromObject(pod), path, query)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("pod %s does not answer within %s", pod.Name, patience)
	}
	return text, err
}

// onlyForbidden returns an error only if the user has no right to query pods. All others are of one pod, which may be starting,
// ending, or on a node that is cut off.
func onlyForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return err
	}
	return nil
}
