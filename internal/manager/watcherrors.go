package manager

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// watchErrors exposes errors that nothing else shows: while objects of a kind cannot be listed or
// watched, the operator uses its stale cache, and no condition changes.
var watchErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "nginx_operator_watch_errors_total",
	Help: "Lists and watches that failed, by the kind of the objects. They are retried.",
}, []string{"kind"})

func init() {
	metrics.Registry.MustRegister(watchErrors)
}

// countWatchErrors logs and counts the failed list or watch of a cache.
func countWatchErrors(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	if !isExpectedWatchError(err) {
		watchErrors.WithLabelValues(watchedKind(r.TypeDescription())).Inc()
	}
}

// isExpectedWatchError reports whether a watch ended normally: the API server closes each watch after some
// minutes, and forgets old versions
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
func isExpectedWatchError(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// watchedKind returns the kind of a Go type, such as *v1.Pod.
func watchedKind(goType string) string {
	kind := goType[strings.LastIndex(goType, ".")+1:]
	if kind == "PartialObjectMetadata" {
		// The metadata-only cache contains ConfigMaps.
		return "ConfigMap"
	}
	return kind
}
