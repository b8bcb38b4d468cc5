package caches

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
)

// CountWatchErrors returns a handler that logs and counts the failed lists and watches of a cache, by the kind of its
// objects. Nothing else shows them: while objects of a kind cannot be listed or watched, an operator uses its stale
// cache, and no condition changes. metadataKind is the kind of the objects of which only the metadata is cached.
func CountWatchErrors(counter *prometheus.CounterVec, metadataKind string) toolscache.WatchErrorHandlerWithContext {
	return func(ctx context.Context, r *toolscache.Reflector, err error) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		if isExpectedWatchError(err) {
			return
		}
		kind := kindOf(r.TypeDescription())
		if kind == "PartialObjectMetadata" {
			kind = metadataKind
		}
		counter.WithLabelValues(kind).Inc()
	}
}

// isExpectedWatchError reports whether a watch ended normally: the API server closes each watch after some
// minutes, and forgets old versions
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
func isExpectedWatchError(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// kindOf returns the kind of a Go type, such as *v1.Pod, or of the description of an unstructured type, which ends in
// Kind=HTTPRoute.
func kindOf(description string) string {
	return description[max(strings.LastIndex(description, "."), strings.LastIndex(description, "="))+1:]
}
