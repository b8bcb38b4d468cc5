// Package api tests the operator against a real API server: what its schema accepts, what
// server-side apply really does, watches and conversion. There is no kubelet and no controller
// manager here. test/e2e tests what pods do.
package api

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/signingkey"
	"example.com/nginx-operator/internal/kube/webhookcert"
	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/testenv"
)

const (
	systemNamespace = "nginx-operator-system"
	defaultImage    = "nginx:test"
	// patience bounds the wait for a condition. It does not measure speed.
	patience = time.Minute
)

var (
	plane       *testenv.ControlPlane
	kube        client.Client
	webhookPort int
	running     *testOperator
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "nginx-operator-api-")
	if err != nil {
		return 1, err
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if plane, err = testenv.Start(dir); err != nil {
		return 1, err
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the control plane:", err)
		}
	}()
	kube = plane.Client
	if webhookPort, err = freePort(); err != nil {
		return 1, err
	}
	ctx := context.Background()
	if err := plane.InstallCRD(ctx, webhookPort); err != nil {
		return 1, err
	}
	if err := createSystemNamespace(ctx); err != nil {
		return 1, err
	}
	running = startOperator()
	defer func() { running.stop() }()
	if err := waitForConversion(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func createSystemNamespace(ctx context.Context) error {
	if err := kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}); err != nil {
		return err
	}
	for _, name := range []string{"nginx-operator-webhook-cert", "nginx-operator-order-key"} {
		if err := kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}}); err != nil {
			return err
		}
	}
	return nil
}

// waitForConversion waits until an object can be read in both versions.
func waitForConversion(ctx context.Context) error {
	probe := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "conversion-probe"}}
	if err := kube.Create(ctx, probe); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return kube.Get(ctx, client.ObjectKeyFromObject(probe), asV1Alpha1("default", probe.Name)) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the conversion webhook does not answer: %w", err)
	}
	return kube.Delete(ctx, probe)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
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
		o.err = manager.Run(ctx, config, manager.Options{
			Version:           "test",
			Controllers:       []string{manager.ControllerNginx, manager.ControllerBackup},
			BackupJobs:        10,
			DefaultImage:      defaultImage,
			InstanceImage:     "nginx-operator:test",
			OwnNamespace:      systemNamespace,
			Concurrency:       4,
			MetricsAddress:    "0",
			MetricsMaxObjects: 10,
			HealthAddress:     "0",
			ConversionWebhook: true,
			WebhookPort:       webhookPort,
			WebhookService:    "nginx-operator-webhook",
			WebhookSecret:     "nginx-operator-webhook-cert",
			OrderKeySecret:    "nginx-operator-order-key",
			OrderKeyLifetime:  signingkey.DefaultLifetime,
			WebhookHosts:      []string{"localhost"},
			WebhookLifetimes:  webhookcert.Lifetimes{Serving: webhookcert.DefaultLifetime, CA: webhookcert.DefaultCALifetime},
		})
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
