package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/signingkey"
	"example.com/nginx-operator/internal/kube/webhookcert"
	"example.com/nginx-operator/internal/manager"
)

// SystemNamespace is the namespace that the operator reports as its own.
const SystemNamespace = "nginx-operator-system"

// answers bounds the wait for the first response of the conversion webhook.
const answers = 3 * time.Minute

// FreePort returns a port that no process listens on.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.Join(errors.New("the listener has no port"), listener.Close())
	}
	return address.Port, listener.Close()
}

// PrepareOperator creates what every installation method creates: the operator's namespace and the
// Secret of its conversion webhook.
func (cp *ControlPlane) PrepareOperator(ctx context.Context) error {
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: "nginx-operator-webhook-cert"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: "nginx-operator-order-key"}},
	} {
		if err := cp.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// OperatorOptions returns the options of an operator in this process, with its conversion webhook at a port.
func OperatorOptions(port int) manager.Options {
	return manager.Options{
		Version:           "test",
		Controllers:       []string{manager.ControllerNginx, manager.ControllerBackup},
		BackupJobs:        10,
		DefaultImage:      "nginx:test",
		InstanceImage:     "nginx-operator:test",
		OwnNamespace:      SystemNamespace,
		Concurrency:       4,
		MetricsAddress:    "0",
		MetricsMaxObjects: 10,
		HealthAddress:     "0",
		ConversionWebhook: true,
		WebhookPort:       port,
		WebhookService:    "nginx-operator-webhook",
		WebhookSecret:     "nginx-operator-webhook-cert",
		OrderKeySecret:    "nginx-operator-order-key",
		OrderKeyLifetime:  signingkey.DefaultLifetime,
		WebhookHosts:      []string{"localhost"},
		WebhookLifetimes:  webhookcert.Lifetimes{Serving: webhookcert.DefaultLifetime, CA: webhookcert.DefaultCALifetime},
	}
}

// StartOperator runs the operator in this process, with its conversion webhook at the port that the
// CRD was installed with, and waits until the webhook converts objects. The returned function stops
// the operator.
func (cp *ControlPlane) StartOperator(ctx context.Context, port int, change func(*manager.Options)) (func() error, error) {
	if err := cp.PrepareOperator(ctx); err != nil {
		return nil, err
	}
	options := OperatorOptions(port)
	if change != nil {
		change(&options)
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(running, cp.Config, options) }()
	stop := func() error {
		cancel()
		return <-ended
	}
	if err := cp.WaitForConversion(ctx); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// WaitForConversion waits until the webhook converts an object. An API server that has not observed the webhook yet reads it
// without a conversion, which loses the port.
func (cp *ControlPlane) WaitForConversion(ctx context.Context) error {
	probe := &v1alpha2.NginxOperator{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "conversion-probe-"},
		Spec:       v1alpha2.NginxOperatorSpec{Ports: []v1alpha2.Port{{Name: "http", Port: 8081}}},
	}
	if err := cp.Client.Create(ctx, probe); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, answers, true, func(ctx context.Context) (bool, error) {
		converted := &v1alpha1.NginxOperator{}
		err := cp.Client.Get(ctx, client.ObjectKeyFromObject(probe), converted)
		return err == nil && converted.Spec.Port != nil, nil
	})
	if err != nil {
		return fmt.Errorf("the conversion webhook does not answer: %w", err)
	}
	return cp.Client.Delete(ctx, probe)
}
