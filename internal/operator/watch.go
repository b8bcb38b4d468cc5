package operator

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

// watchErrors tells what is invisible otherwise: while the objects of a kind can't be listed or
// watched, the operator goes by what it has seen of them before, and no condition of any
// object changes.
var watchErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "nginx_operator_watch_errors_total",
	Help: "Lists and watches that failed, by the kind of the objects. They are tried again.",
}, []string{"kind"})

func init() {
	metrics.Registry.MustRegister(watchErrors)
}

// countWatchErrors logs and counts why a list or watch of a cache has failed.
func countWatchErrors(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	if !usual(err) {
		watchErrors.WithLabelValues(watchedKind(r.TypeDescription())).Inc()
	}
}

// usual tells whether a watch ended as watches do: the API server closes each after some minutes,
// and forgets old versions
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
func usual(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// watchedKind is the kind of a Go type, such as *v1.Pod.
func watchedKind(goType string) string {
	kind := goType[strings.LastIndex(goType, ".")+1:]
	if kind == "PartialObjectMetadata" {
		// Of ConfigMaps, there is a cache that keeps of each only its metadata.
		return "ConfigMap"
	}
	return kind
}
