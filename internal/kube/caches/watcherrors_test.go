package caches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestWatchErrors: the reflector counts objects that it cannot read, also if it reads only their metadata.
func TestWatchErrors(t *testing.T) {
	for kind, example := range map[string]runtime.Object{"Pod": &corev1.Pod{}, "ConfigMap": &metav1.PartialObjectMetadata{}} {
		t.Run(kind, func(t *testing.T) { testWatchErrors(t, kind, example) })
	}
}

func testWatchErrors(t *testing.T, kind string, example runtime.Object) {
	t.Helper()
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "watch_errors_total"}, []string{"kind"})
	unreadable := errors.New("json: cannot unmarshal number 9223372036854775807 into Go struct field TCPSocketAction of type int32")
	list := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, unreadable },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, unreadable
		},
	}
	informer := toolscache.NewSharedInformer(list, example, 0)
	if err := informer.SetWatchErrorHandlerWithContext(CountWatchErrors(counter, "ConfigMap")); err != nil {
		t.Fatal(err)
	}
	counted := func() float64 { return testutil.ToFloat64(counter.WithLabelValues(kind)) }
	before := counted()
	go informer.RunWithContext(t.Context())
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return counted() > before, nil
	})
	if err != nil {
		t.Fatal("nothing is counted")
	}
}

func TestUsual(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{io.EOF, true},
		{fmt.Errorf("watch: %w", io.ErrUnexpectedEOF), true},
		{apierrors.NewResourceExpired("too old"), true},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone}}, true},
		{apierrors.NewForbidden(corev1.Resource("pods"), "", nil), false},
		{errors.New("json: cannot unmarshal"), false},
	} {
		if got := isExpectedWatchError(tt.err); got != tt.want {
			t.Errorf("%v is as watches end: %t", tt.err, got)
		}
	}
}

func TestKindOf(t *testing.T) {
	for goType, want := range map[string]string{
		fmt.Sprintf("%T", &corev1.Pod{}): "Pod", fmt.Sprintf("%T", &metav1.PartialObjectMetadata{}): "PartialObjectMetadata", "<unspecified>": "<unspecified>",
	} {
		if got := kindOf(goType); got != want {
			t.Errorf("objects of %s are called %s, want %s", goType, got, want)
		}
	}
}
