package testenv

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/manager"
)

// readTimeout is longer than the API server waits for a conversion.
const readTimeout = 40 * time.Second

// Reads is a client that reads an object at a steady rate: by name and in a list, in both versions,
// from the API server and not from a cache. It retries only when the API server requests it (429).
type Reads struct {
	client client.Client
	key    client.ObjectKey
	cancel context.CancelFunc
	done   chan struct{}

	made, again atomic.Int64
	mu          sync.Mutex
	failures    []string
	slowest     time.Duration
}

// ReadReport is the result of the reads.
type ReadReport struct {
	Made, Again int64
	Failures    []string
	Slowest     time.Duration
}

// String returns the report as one line of text.
func (r ReadReport) String() string {
	return fmt.Sprintf("%d of %d reads failed, %d were retried as the API server requested, the slowest took %s", len(r.Failures), r.Made, r.Again, r.Slowest)
}

// StartReads starts to read the object of a key, rate times a second.
func StartReads(ctx context.Context, config *rest.Config, key client.ObjectKey, rate int) (*Reads, error) {
	r := &Reads{key: key, done: make(chan struct{})}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.WarningHandler = -1, 0, rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &r.again} })
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	if r.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	ctx, r.cancel = context.WithCancel(ctx)
	go r.run(ctx, time.Second/time.Duration(rate))
	return r, nil
}

type counting struct {
	next  http.RoundTripper
	again *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		c.again.Add(1)
	}
	return response, err
}

// run starts a read at every tick, even if the previous one has not ended: a slow read must not
// prevent others from failing.
func (r *Reads) run(ctx context.Context, every time.Duration) {
	defer close(r.done)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var underWay sync.WaitGroup
	defer underWay.Wait()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			underWay.Go(func() { r.read(context.WithoutCancel(ctx), i) })
		}
	}
}

func (r *Reads) read(ctx context.Context, i int) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	start := time.Now()
	what, err := r.one(ctx, i)
	took := time.Since(start)
	r.made.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slowest = max(r.slowest, took)
	if err != nil {
		r.failures = append(r.failures, fmt.Sprintf("%s %s, after %s: %v", start.Format("15:04:05.000"), what, took, err))
	}
}

func (r *Reads) one(ctx context.Context, i int) (string, error) {
	switch i % 4 {
	case 0:
		return "get v1alpha1", r.client.Get(ctx, r.key, &v1alpha1.NginxOperator{})
	case 1:
		return "get v1alpha2", r.client.Get(ctx, r.key, &v1alpha2.NginxOperator{})
	case 2:
		list := &v1alpha1.NginxOperatorList{}
		err := r.client.List(ctx, list, client.InNamespace(r.key.Namespace))
		return "list v1alpha1", found(err, len(list.Items))
	default:
		list := &v1alpha2.NginxOperatorList{}
		err := r.client.List(ctx, list, client.InNamespace(r.key.Namespace))
		return "list v1alpha2", found(err, len(list.Items))
	}
}

func found(err error, n int) error {
	if err == nil && n == 0 {
		return fmt.Errorf("the list is empty")
	}
	return err
}

// Stop waits for the reads in progress and returns the report of all reads.
func (r *Reads) Stop() ReadReport {
	r.cancel()
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReadReport{Made: r.made.Load(), Again: r.again.Load(), Failures: r.failures, Slowest: r.slowest}
}
