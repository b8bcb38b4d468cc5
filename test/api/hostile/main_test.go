// Package hostile sends the corpus of test/hostile to a real API server with the operator behind
// it, and checks the result of each resource: either it is rejected with a message that says what
// to change, or it is accepted and does no harm.
package hostile

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/test/external"
	"example.com/nginx-operator/test/testenv"
)

// patience bounds the wait for a condition. It does not measure speed.
const patience = 8 * time.Minute

var (
	plane  *testenv.ControlPlane
	writes = &recorder{}
	logged = &lines{}
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.WriteTo(logged), zap.UseDevMode(false)))
	testenv.Main(m, setUp)
}

func setUp(ctx context.Context, started *testenv.ControlPlane, _ string) (func() error, error) {
	plane = started
	port, err := testenv.FreePort()
	if err != nil {
		return nil, err
	}
	if err := plane.InstallCRD(ctx, port); err != nil {
		return nil, err
	}
	for _, definition := range []func() (*apiextensionsv1.CustomResourceDefinition, error){external.HTTPRoutes, external.Certificates} {
		crd, err := definition()
		if err == nil {
			err = external.Install(ctx, plane.Client, plane.Config, crd)
		}
		if err != nil {
			return nil, err
		}
	}
	plane.Config = writes.watch(plane.Config)
	return plane.StartOperator(ctx, port, func(o *manager.Options) {
		o.Concurrency = 16
		o.Controllers = []string{manager.ControllerNginx, manager.ControllerBackup, manager.ControllerCache}
	})
}

// recorder records what the operator writes.
type recorder struct {
	mu   sync.Mutex
	made []string
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (w *recorder) watch(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/leases") {
				w.mu.Lock()
				w.made = append(w.made, r.Method+" "+r.URL.Path)
				w.mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

// all returns the writes so far.
func (w *recorder) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.made...)
}

// lines collects the log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}
