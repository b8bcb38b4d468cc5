package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestWatchErrors: the reflector counts objects that it cannot read.
func TestWatchErrors(t *testing.T) {
	unreadable := errors.New("json: cannot unmarshal number 9223372036854775807 into Go struct field TCPSocketAction of type int32")
	list := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, unreadable },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, unreadable
		},
	}
	informer := toolscache.NewSharedInformer(list, &v1alpha2.NginxOperator{}, 0)
	if err := informer.SetWatchErrorHandlerWithContext(countWatchErrors); err != nil {
		t.Fatal(err)
	}
	counted := func() float64 { return testutil.ToFloat64(watchErrors.WithLabelValues("NginxOperator")) }
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

func TestWatchedKind(t *testing.T) {
	for goType, want := range map[string]string{
		fmt.Sprintf("%T", &corev1.Pod{}): "Pod", fmt.Sprintf("%T", &metav1.PartialObjectMetadata{}): "ConfigMap", "<unspecified>": "<unspecified>",
	} {
		if got := watchedKind(goType); got != want {
			t.Errorf("objects of %s are called %s, want %s", goType, got, want)
		}
	}
}
