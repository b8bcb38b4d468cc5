package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/testenv"
)

const (
	createObjects = 500
	// createSpeed is five times what an operator reaches that leaves the limits
	// of its client as they are.
	createSpeed = 5 * 21

	createImage     = "nginx:measure"
	createNamespace = "measure"
	warmUpNamespace = "measure-warm-up"
	floorNamespace  = "measure-floor"
	bareNamespace   = "measure-bare"
)

// createBench is a bare control plane: no controller manager, no kubelet. What is
// measured is the operator and the API server alone.
type createBench struct {
	plane  *testenv.ControlPlane
	client client.WithWatch
	// account is the configuration of a client with the operator's account.
	account *rest.Config
	dir     string
	log     audit.Log
	user    string
	n       int
}

// measureCreate starts the real operator as a process and gives it many objects at once.
// Afterwards a bare client makes the same writes, with the same account.
func measureCreate(ctx context.Context, s *session) ([]figure.Figure, error) {
	bench, err := newCreateBench(ctx, s)
	if err != nil {
		return nil, err
	}
	s.progress("create: %d objects by the operator", bench.n)
	run, err := bench.runOperator(ctx)
	if err != nil {
		return nil, err
	}
	s.progress("create: %d objects by a bare client", bench.n)
	floor, err := bench.runFloor(ctx, run.sample)
	if err != nil {
		return nil, err
	}
	return createFigures(bench.n, run, floor), nil
}

func newCreateBench(ctx context.Context, s *session) (*createBench, error) {
	dir, err := os.MkdirTemp("", "measure-create-")
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	plane, err := testenv.Start(dir)
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return plane.Stop() })
	if err := plane.InstallCRD(ctx, 0); err != nil {
		return nil, err
	}
	account, err := process.CreateAccount(ctx, plane)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{createNamespace, warmUpNamespace, floorNamespace, bareNamespace} {
		if err := plane.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return nil, err
		}
	}
	watching, err := client.NewWithWatch(plane.Config, client.Options{Scheme: plane.Client.Scheme()})
	return &createBench{
		plane:   plane,
		client:  watching,
		account: account,
		dir:     dir,
		log:     audit.Log{Path: plane.AuditLog},
		user:    process.Username(),
		n:       s.count(createObjects),
	}, err
}

// operatorRun is what the operator did.
type operatorRun struct {
	took     time.Duration
	requests map[audit.Class][]audit.Event
	memory   process.Memory
	// processor is the operator's processor time in all, its start included, and
	// controlPlane that of the API server and etcd from the first creation on.
	processor, controlPlane time.Duration
	// sample is a status that it wrote.
	sample v1alpha2.NginxOperatorStatus
}

func (b *createBench) runOperator(ctx context.Context) (run operatorRun, err error) {
	program, err := process.Build(ctx, b.dir)
	if err != nil {
		return run, err
	}
	kubeconfig := filepath.Join(b.dir, "operator.kubeconfig")
	if err := process.WriteKubeconfig(b.account, kubeconfig); err != nil {
		return run, err
	}
	running, err := process.Start(program, kubeconfig, filepath.Join(b.dir, "operator.log"),
		"--leader-elect=false", "--conversion-webhook=false", "--metrics-bind-address=0",
		"--health-probe-bind-address=0", "--own-namespace="+process.Account.Namespace, "--default-image="+createImage, "--instance-image="+createImage)
	if err != nil {
		return run, err
	}
	alive, cancel := running.Alive(ctx)
	defer cancel()
	err = b.load(alive, &run)
	if err == nil {
		run.memory, err = running.Memory()
	}
	var stopped error
	run.processor, stopped = running.Stop()
	return run, errors.Join(err, stopped)
}

// load creates the objects and waits for the operator.
func (b *createBench) load(ctx context.Context, run *operatorRun) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errors.New("the operator does not get done within five minutes"))
	defer cancel()
	// One object beforehand proves that the operator's caches are filled.
	if err := b.createAndAwait(ctx, warmUpNamespace, 1); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if err := silence(ctx, b.log, b.user); err != nil {
		return err
	}
	var start time.Time
	var err error
	run.controlPlane, err = process.ControlPlaneTime(func() error {
		start = time.Now()
		return b.createAndAwait(ctx, createNamespace, b.n)
	})
	if err != nil {
		return err
	}
	if err := silence(ctx, b.log, b.user); err != nil {
		return err
	}
	requests, err := b.log.Requests(audit.Filter{User: b.user, Since: start})
	if err != nil {
		return err
	}
	run.took = lastChange(requests).Sub(start)
	run.requests = audit.ByClass(requests, process.Account.Namespace)
	run.sample, err = b.sample(ctx)
	return err
}

func (b *createBench) createAndAwait(ctx context.Context, namespace string, n int) error {
	awaited := make(chan error, 1)
	go func() { awaited <- fleet.Await(ctx, b.client, namespace, n, fleet.Observed) }()
	err := fleet.Create(ctx, b.plane.Client, namespace, n)
	if err != nil {
		return err
	}
	return <-awaited
}

// lastChange is when the last object or status was written. Events only tell of it.
func lastChange(requests []audit.Event) time.Time {
	var last time.Time
	for _, e := range requests {
		if audit.Classify(e, process.Account.Namespace) == audit.Write && e.Resource() != "events" && e.Done.After(last) {
			last = e.Done
		}
	}
	return last
}

// sample is a status that the operator wrote.
func (b *createBench) sample(ctx context.Context) (v1alpha2.NginxOperatorStatus, error) {
	nginx := fleet.Object(createNamespace, 0)
	err := b.client.Get(ctx, client.ObjectKeyFromObject(nginx), nginx)
	return nginx.Status, err
}
