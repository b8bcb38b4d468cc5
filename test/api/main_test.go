// Package api tests the operator against a real API server: what its schema accepts, what
// server-side apply really does, watches and conversion. There is no kubelet and no controller
// manager here. test/e2e tests what pods do.
package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/testenv"
)

const (
	defaultImage = "nginx:test"
	// patience bounds the wait for a condition. It does not measure speed.
	patience = 3 * time.Minute
)

var (
	plane       *testenv.ControlPlane
	kube        client.Client
	webhookPort int
	running     *testOperator
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	testenv.Main(m, setUp)
}

func setUp(ctx context.Context, started *testenv.ControlPlane, _ string) (end func() error, err error) {
	plane, kube = started, started.Client
	if webhookPort, err = testenv.FreePort(); err != nil {
		return nil, err
	}
	if err := plane.InstallCRD(ctx, webhookPort); err != nil {
		return nil, err
	}
	if err := plane.PrepareOperator(ctx); err != nil {
		return nil, err
	}
	running = startOperator() //nolint:contextcheck // Tests stop and start it, too.
	end = func() error {
		running.stop()
		return nil
	}
	return end, plane.WaitForConversion(ctx)
}

// testOperator is the operator, running in the test's process.
type testOperator struct {
	cancel context.CancelFunc
	// ended is closed when the operator has ended, with err.
	ended chan struct{}
	err   error
	// writes counts the requests that change something.
	writes *atomic.Int64
	// written holds their methods and paths.
	written []string
	// caches counts the caches of each resource and selector.
	caches    map[string]int
	writtenMu sync.Mutex
	// death kills the operator at a write, if set.
	death atomic.Pointer[death]
	// blindness holds back watch events of a resource from the operator, if set.
	blindness atomic.Pointer[blindness]
}

func (o *testOperator) note(write string) {
	o.writtenMu.Lock()
	defer o.writtenMu.Unlock()
	o.written = append(o.written, write)
}

func (o *testOperator) noteCache(of string) {
	o.writtenMu.Lock()
	defer o.writtenMu.Unlock()
	if o.caches == nil {
		o.caches = map[string]int{}
	}
	o.caches[of]++
}

// cachedTwice returns the resources, with their selectors, that are in more than one cache.
func (o *testOperator) cachedTwice() []string {
	o.writtenMu.Lock()
	defer o.writtenMu.Unlock()
	var twice []string
	for of, caches := range o.caches {
		if caches > 1 {
			twice = append(twice, of)
		}
	}
	return twice
}

// allWritten returns the methods and paths of all writes.
func (o *testOperator) allWritten() []string {
	o.writtenMu.Lock()
	defer o.writtenMu.Unlock()
	return slices.Clone(o.written)
}

// writtenIn returns the writes to a namespace. If a name is taken by a foreign object, as other
// tests leave behind, every operator sends one request to the API server.
func (o *testOperator) writtenIn(namespace string) []string {
	o.writtenMu.Lock()
	defer o.writtenMu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.written), func(write string) bool {
		return !strings.Contains(write, "/namespaces/"+namespace+"/")
	})
}

func startOperator() *testOperator {
	ctx, cancel := context.WithCancel(context.Background())
	o := &testOperator{cancel: cancel, ended: make(chan struct{}), writes: &atomic.Int64{}}
	config := countWrites(plane.Config, o)
	go func() {
		defer close(o.ended)
		o.err = manager.Run(ctx, config, testenv.OperatorOptions(webhookPort))
	}()
	return o
}

// stop stops the operator and panics if it had failed, because no test means anything then.
func (o *testOperator) stop() {
	o.cancel()
	<-o.ended
	if o.err != nil {
		panic(fmt.Sprintf("the operator failed: %v", o.err))
	}
}
