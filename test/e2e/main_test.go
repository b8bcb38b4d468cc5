//go:build e2e

// Package e2e tests the operator on a real cluster: what pods do, what users see, and what happens
// when other clients interfere. The operator must be installed already (by make deploy or make
// deploy-helm). The cluster is the one that KUBECONFIG names. Every HTTP request goes through the
// API server's proxy, so the tests run wherever the API server can be reached.
//
// Tests that stop the operator itself are not parallel. Go runs those first and alone, so they disturb
// no other test.
//
// Settings, all optional:
//
//	E2E_HELM                Helm, where the install by Helm is under test
//	E2E_LOAD_IMAGE          image of test/load/cmd/nginx-load
//	E2E_NGINX_IMAGES        images of nginx, oldest first, comma-separated
//	E2E_OPERATOR_IMAGE      image of the operator, for the install in one namespace
//	E2E_OPERATOR_NAMESPACE  where the operator is installed
//	E2E_S3_IMAGE            image of versitygw, an S3 server
//	E2E_SCREENSHOTS         folder that keeps the screenshots of the console
//	E2E_STORAGE_CLASS       class whose volumes have the size of their claims and grow while they are mounted
//	KUBECTL                 the kubectl to use
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/manager"
)

// operatorName is the name of the operator's Deployment, Lease and more.
const operatorName = "nginx-operator"

var (
	// kube reads and writes as an administrator, without a cache.
	kube client.Client
	// clientset provides what kube lacks: logs, proxies, evictions and tokens.
	clientset kubernetes.Interface

	nginxImages       = strings.Split(env("E2E_NGINX_IMAGES", "localhost/nginx:1.22-debian,localhost/nginx:1.26-debian,localhost/nginx:1.30-debian"), ",")
	operatorImage     = env("E2E_OPERATOR_IMAGE", "localhost/nginx-operator:dev")
	operatorNamespace = env("E2E_OPERATOR_NAMESPACE", "nginx-operator-system")
	s3Image           = env("E2E_S3_IMAGE", "localhost/versitygw:dev")
	storageClass      = env("E2E_STORAGE_CLASS", "")
	kubectlPath       = env("KUBECTL", "kubectl")
	helmPath          = env("E2E_HELM", "")
)

func env(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func oldestImage() string { return nginxImages[0] }

func newestImage() string { return nginxImages[len(nginxImages)-1] }

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// connect creates the clients and checks that the operator is installed.
func connect() error {
	ctrl.SetLogger(logr.Discard())
	if len(nginxImages) < 2 {
		return errors.New("E2E_NGINX_IMAGES needs at least two images: one test changes the image")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	// The tests poll, so a limit in the client would only make them slow.
	config.QPS, config.Burst = -1, 0
	scheme, err := manager.Scheme()
	if err != nil {
		return err
	}
	if kube, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if clientset, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	return findOperator()
}

func findOperator() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d := &appsv1.Deployment{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, d); err != nil {
		return fmt.Errorf("find the operator, which has to be installed by make deploy or make deploy-helm: %w", err)
	}
	if d.Status.AvailableReplicas == 0 {
		return fmt.Errorf("no replica of the operator is available in namespace %s", operatorNamespace)
	}
	return nil
}
