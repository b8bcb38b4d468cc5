package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/internal/kube/signingkey"
	"example.com/nginx-operator/internal/manager"
)

// testOperator is an operator that is confined to one namespace, in the test's process.
type testOperator struct {
	t      *testing.T
	cancel context.CancelFunc
	// ended is closed when the operator has ended, with err.
	ended chan struct{}
	err   error
	// death disturbs the operator at a write, if set.
	death atomic.Pointer[death]
	// view is an outdated view of a resource, or nil if the operator sees the current state.
	view *oldView

	mu sync.Mutex
	// writes are the requests that change something.
	writes []string
}

func startOperator(t *testing.T, namespace string, change ...func(*manager.Options)) *testOperator {
	t.Helper()
	return (&testOperator{t: t}).start(namespace, change...)
}

func (o *testOperator) start(namespace string, change ...func(*manager.Options)) *testOperator {
	o.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel, o.ended = cancel, make(chan struct{})
	options := manager.Options{
		Version:          "test",
		Controllers:      []string{manager.ControllerBackup},
		BackupJobs:       100,
		DefaultImage:     "nginx:test",
		InstanceImage:    "nginx-operator:test",
		Namespaces:       []string{namespace},
		OwnNamespace:     namespace,
		OrderKeySecret:   orderKeySecret,
		OrderKeyLifetime: signingkey.DefaultLifetime,
		Concurrency:      4,
		MetricsAddress:   "0",
		HealthAddress:    "0",
	}
	for _, c := range change {
		c(&options)
	}
	config := o.watched()
	go func() {
		defer close(o.ended)
		o.err = manager.Run(ctx, config, options)
	}()
	o.t.Cleanup(o.stop)
	return o
}

// stop stops the operator, if it has not ended.
func (o *testOperator) stop() {
	o.t.Helper()
	o.cancel()
	<-o.ended
	if o.err != nil {
		o.t.Errorf("the operator failed: %v", o.err)
		o.err = nil
	}
}

// watched returns a configuration that records the requests that change something: everything but
// reads and events. Events are sent asynchronously after the change, and nothing depends on them.
func (o *testOperator) watched() *rest.Config {
	config := rest.CopyConfig(plane.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			o.view.record(r)
			if r.Method == http.MethodGet {
				return o.view.roundTrip(next, r)
			}
			event := strings.Contains(r.URL.Path, "/events")
			if !event {
				o.mu.Lock()
				o.writes = append(o.writes, fmt.Sprintf("%s %s", r.Method, r.URL.Path))
				o.mu.Unlock()
			}
			if d := o.death.Load(); d != nil {
				return d.roundTrip(next, r, event)
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

func (o *testOperator) wrote() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.writes...)
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// death kills an operator at one of its writes: nothing that it sends afterwards reaches the API
// server.
type death struct {
	// at is the number of the write, starting at 1.
	at int64
	// sent carries out that write and drops the response.
	sent bool
	// refuse rejects that write with an HTTP status, and the operator goes on. With 0, the operator
	// is killed.
	refuse int

	writes   atomic.Int64
	happened atomic.Bool
}

var errDead = errors.New("the operator was killed")

func (d *death) roundTrip(next http.RoundTripper, r *http.Request, event bool) (*http.Response, error) {
	if event {
		if d.refuse == 0 && d.happened.Load() {
			return nil, errDead
		}
		return next.RoundTrip(r)
	}
	n := d.writes.Add(1)
	if n < d.at || d.refuse != 0 && n > d.at {
		return next.RoundTrip(r)
	}
	if d.refuse != 0 {
		d.happened.Store(true)
		return refusal(r, d.refuse)
	}
	if n == d.at && d.sent {
		response, err := next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		if err == nil {
			_ = response.Body.Close()
		}
	}
	d.happened.Store(true)
	return nil, errDead
}

// refusal returns the response of an API server that rejects a request.
func refusal(r *http.Request, code int) (*http.Response, error) {
	reason := map[int]metav1.StatusReason{
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
	}[code]
	text, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "refused by the test",
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}
