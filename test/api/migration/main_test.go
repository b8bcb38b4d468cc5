// Package migration tests the migration of stored objects against a real API server,
// with the operator and its conversion webhook running. How an object is stored is read
// from etcd.
package migration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/operator"
	"example.com/nginx-operator/internal/webhookcert"
	"example.com/nginx-operator/test/testenv"
)

const (
	systemNamespace = "nginx-operator-system"
	// patience is how long a condition may take to come true; it is no measure of speed.
	patience = time.Minute
)

var (
	plane *testenv.ControlPlane
	kube  client.Client
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "nginx-operator-migration-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if plane, err = testenv.Start(dir); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	kube = plane.Client
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := errors.Join(plane.InstallCRD(ctx, port), createSystemNamespace(ctx)); err != nil {
		cancel()
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- runOperator(ctx, port) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended)
	}()
	if err := waitForConversion(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func runOperator(ctx context.Context, port int) error {
	return operator.Run(ctx, plane.Config, operator.Options{
		DefaultImage:      "nginx:test",
		InstanceImage:     "nginx-operator:test",
		OwnNamespace:      systemNamespace,
		Concurrency:       4,
		MetricsAddress:    "0",
		MetricsMaxObjects: 10,
		HealthAddress:     "0",
		ConversionWebhook: true,
		WebhookPort:       port,
		WebhookService:    "nginx-operator-webhook",
		WebhookSecret:     "nginx-operator-webhook-cert",
		WebhookHosts:      []string{"localhost"},
		WebhookLifetimes:  webhookcert.Lifetimes{Serving: webhookcert.DefaultLifetime, CA: webhookcert.DefaultCALifetime},
	})
}

func createSystemNamespace(ctx context.Context) error {
	return errors.Join(
		kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}),
		kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "nginx-operator-webhook-cert"}}))
}

// waitForConversion waits until an object can be read in the version in which it is not
// stored.
func waitForConversion(ctx context.Context) error {
	probe := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "conversion-probe"}}
	if err := kube.Create(ctx, probe); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return kube.Get(ctx, client.ObjectKeyFromObject(probe), &v1alpha1.NginxOperator{}) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the conversion webhook does not answer: %w", err)
	}
	return kube.Delete(ctx, probe)
}
