// Package migration tests the migration of stored objects against a real API server, with the
// operator and its conversion webhook running. It reads from etcd how an object is stored.
package migration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/testenv"
)

// patience bounds the wait for a condition. It does not measure speed.
const patience = time.Minute

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
	port, err := testenv.FreePort()
	if err != nil {
		return 1, err
	}
	ctx := context.Background()
	if err := plane.InstallCRD(ctx, port); err != nil {
		return 1, err
	}
	stop, err := plane.StartOperator(ctx, port, nil)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return m.Run(), nil
}
