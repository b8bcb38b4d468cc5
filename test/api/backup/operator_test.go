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

	"example.com/nginx-operator/internal/operator"
)

// testOperator is an operator that is confined to one namespace, in the test's process.
type testOperator struct {
	t      *testing.T
	cancel context.CancelFunc
	// ended is closed when the operator has ended, with err.
	ended chan struct{}
	err   error
	// death cuts the operator off at a write, when it is set.
	death atomic.Pointer[death]
	// view is what it sees of a resource; nil: all there is.
	view *oldView

	mu sync.Mutex
	// writes are the requests that change something.
	writes []string
}

func startOperator(t *testing.T, namespace string, change ...func(*operator.Options)) *testOperator {
	t.Helper()
	return (&testOperator{t: t}).start(namespace, change...)
}

func (o *testOperator) start(namespace string, change ...func(*operator.Options)) *testOperator {
	o.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel, o.ended = cancel, make(chan struct{})
	options := operator.Options{
		Version:        "test",
		Controllers:    []string{operator.ControllerBackup},
		BackupJobs:     100,
		DefaultImage:   "nginx:test",
		InstanceImage:  "nginx-operator:test",
		Namespaces:     []string{namespace},
		OwnNamespace:   namespace,
		Concurrency:    4,
		MetricsAddress: "0",
		HealthAddress:  "0",
	}
	for _, c := range change {
		c(&options)
	}
	config := o.watched()
	go func() {
		defer close(o.ended)
		o.err = operator.Run(ctx, config, options)
	}()
	o.t.Cleanup(o.stop)
	return o
}

// stop ends the operator, if it has not ended.
func (o *testOperator) stop() {
	o.t.Helper()
	o.cancel()
	<-o.ended
	if o.err != nil {
		o.t.Errorf("the operator failed: %v", o.err)
		o.err = nil
	}
}

// watched notes what changes something in the cluster: everything but reads and events.
// Events are told after the fact, and without waiting for it: nothing hangs on them.
func (o *testOperator) watched() *rest.Config {
	config := rest.CopyConfig(plane.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			o.view.look(r)
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

// death kills an operator at one of its writes: nothing that it sends afterwards reaches the
// API server.
type death struct {
	// at is the number of the write, from 1 on.
	at int64
	// sent lets that write be carried out, and loses the answer.
	sent bool
	// refuse has that write refused with an HTTP status, and the operator live on; 0: it dies.
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

// refusal is what an API server answers that does not take a request.
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
