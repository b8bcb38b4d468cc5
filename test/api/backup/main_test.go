// Package backup tests the backup controllers against a real API server. There is no kubelet and no
// controller manager: a stand-in runs the programs of the jobs' pods in this process, and reports
// what a kubelet and the Job controller would report. Every test has its own namespace and an
// operator that is confined to it, so the operator can be killed at every step.
package backup

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/nginx-operator/test/standin"
	"example.com/nginx-operator/test/testenv"
)

// patience bounds the wait for a condition. It does not measure speed: dozens of restores share the jobs of a namespace, on a
// machine that runs other suites at the same time.
const patience = 5 * time.Minute

// standInPause is the pause between two passes of the stand-in.
const standInPause = 40 * time.Millisecond

// atATime is the number of parallel tests. Most of them wait most of the time.
const atATime = "12"

var (
	plane *testenv.ControlPlane
	kube  client.Client
	nodes *standin.Cluster
)

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	metrics.Registry = registry{metrics.Registry}
	testenv.Main(m, setUp)
}

func setUp(ctx context.Context, started *testenv.ControlPlane, _ string) (func() error, error) {
	plane, kube = started, started.Client
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	if err := flag.Set("test.parallel", atATime); err != nil {
		return nil, err
	}
	if err := plane.InstallCRD(ctx, 0); err != nil {
		return nil, err
	}
	nodes = standin.New(kube, standInPause)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- nodes.Run(running) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// registry registers the metrics of many operators in one process. They are not read here.
type registry struct{ metrics.RegistererGatherer }

// Register accepts collectors that other operators have registered before.
func (r registry) Register(c prometheus.Collector) error {
	err := r.RegistererGatherer.Register(c)
	if _, twice := errors.AsType[prometheus.AlreadyRegisteredError](err); twice {
		return nil
	}
	return err
}
