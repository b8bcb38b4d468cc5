// Package migration tests the migration of stored objects against a real API server, with the
// operator and its conversion webhook running. It reads from etcd how an object is stored.
package migration

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/testenv"
)

// patience bounds the wait for a condition. It does not measure speed.
const patience = 3 * time.Minute

var (
	plane *testenv.ControlPlane
	kube  client.Client
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	testenv.Main(m, func(ctx context.Context, started *testenv.ControlPlane, _ string) (func() error, error) {
		plane, kube = started, started.Client
		port, err := testenv.FreePort()
		if err != nil {
			return nil, err
		}
		if err := plane.InstallCRD(ctx, port); err != nil {
			return nil, err
		}
		return plane.StartOperator(ctx, port, nil)
	})
}
