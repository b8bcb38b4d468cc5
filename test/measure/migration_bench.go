package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/testenv"
)

// migrationPoll is the time between two reads of a migration's progress from etcd.
const migrationPoll = 20 * time.Millisecond

// migrationBench is a bare control plane with the operator as a process that serves the conversion
// webhook.
type migrationBench struct {
	*session
	plane   *testenv.ControlPlane
	dir     string
	program string
	n       int
}

func newMigrationBench(ctx context.Context, s *session) (*migrationBench, error) {
	dir, err := os.MkdirTemp("", "measure-migration-")
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	b := &migrationBench{session: s, dir: dir, n: s.count(migrationObjects)}
	if b.plane, err = testenv.Start(dir); err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return b.plane.Stop() })
	if b.program, err = process.Build(ctx, dir); err != nil {
		return nil, err
	}
	return b, b.startOperator(ctx)
}

// startOperator starts the operator with its own permissions, and waits for its webhook.
func (b *migrationBench) startOperator(ctx context.Context) error {
	port, err := testenv.FreePort()
	if err != nil {
		return err
	}
	if err := b.plane.InstallCRD(ctx, port); err != nil {
		return err
	}
	account, err := process.CreateAccount(ctx, b.plane)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(b.dir, "operator.kubeconfig")
	if err := process.WriteKubeconfig(account, kubeconfig); err != nil {
		return err
	}
	running, err := process.Command{
		Program: b.program, Kubeconfig: kubeconfig, Log: filepath.Join(b.dir, "operator.log"),
		Arguments: process.Arguments("--metrics-bind-address=0", "--webhook-leave=0s", fmt.Sprintf("--webhook-port=%d", port), "--webhook-hosts=localhost"),
	}.Start()
	if err != nil {
		return err
	}
	b.atEnd(func(context.Context) error {
		_, err := running.Stop()
		return err
	})
	alive, cancel := running.Alive(ctx)
	defer cancel()
	return b.waitForConversion(alive)
}

// waitForConversion waits until an object can be read in a version other than its storage version.
func (b *migrationBench) waitForConversion(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the conversion webhook does not answer"))
	defer cancel()
	probe := fleet.Object("default", 0)
	if err := b.plane.Client.Create(ctx, probe); err != nil {
		return err
	}
	for b.plane.Client.Get(ctx, client.ObjectKeyFromObject(probe), &v1alpha1.NginxOperator{}) != nil {
		if err := pause(ctx, migrationPoll); err != nil {
			return err
		}
	}
	return b.plane.Client.Delete(ctx, probe)
}

// fill creates the objects of a namespace with the storage version v1alpha1. A client of v1alpha2
// creates every second one, with fields that v1alpha1 does not have.
func (b *migrationBench) fill(ctx context.Context, namespace string) error {
	if err := b.plane.StoreAs(ctx, v1alpha1.GroupVersion.Version); err != nil {
		return err
	}
	if err := b.plane.SetStoredVersions(ctx, v1alpha1.GroupVersion.Version); err != nil {
		return err
	}
	if err := b.plane.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	err := fleet.Each(ctx, b.n, func(i int) error { return b.plane.Client.Create(ctx, migrationObject(namespace, i)) })
	if err != nil {
		return err
	}
	for {
		objects, err := b.read(ctx, namespace)
		if err != nil {
			return err
		}
		waiting := 0
		for _, nginx := range objects {
			if !fleet.Observed(&nginx) {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

func migrationObject(namespace string, i int) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: fleet.Name(i), Labels: map[string]string{"number": fmt.Sprint(i)}}
	if i%2 == 0 {
		return &v1alpha1.NginxOperator{ObjectMeta: meta, Spec: v1alpha1.NginxOperatorSpec{
			Port: new(int32(1024 + i)), Replicas: new(int32(i % 7)), ForceRedeploy: new(fmt.Sprint(i)),
		}}
	}
	return &v1alpha2.NginxOperator{ObjectMeta: meta, Spec: v1alpha2.NginxOperatorSpec{
		Replicas: new(int32(i % 7)),
		Image:    new(fmt.Sprintf("nginx:%d", i)),
		Ports:    []v1alpha2.Port{{Name: "web", Port: 80}, {Name: "admin", Port: int32(1024 + i)}},
		Config:   &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": v1alpha2.ConfigFile(fmt.Sprintf("server { listen 80; return 200 %d; }\n", i))}},
	}}
}

// read returns the objects of a namespace by name.
func (b *migrationBench) read(ctx context.Context, namespace string) (map[string]v1alpha2.NginxOperator, error) {
	list := &v1alpha2.NginxOperatorList{}
	if err := b.plane.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	objects := map[string]v1alpha2.NginxOperator{}
	for _, nginx := range list.Items {
		objects[nginx.Name] = nginx
	}
	return objects, nil
}

// lost returns the names of the objects that are missing or differ, except in what the storage
// adds.
func lost(before, after map[string]v1alpha2.NginxOperator) []string {
	var names []string
	for name, was := range before {
		is, there := after[name]
		was.ResourceVersion, is.ResourceVersion = "", ""
		if !there || !apiequality.Semantic.DeepEqual(was, is) {
			names = append(names, name)
		}
	}
	return names
}

// storedAs counts the objects that etcd stores in a version, in all namespaces.
func (b *migrationBench) storedAs(ctx context.Context, version string) (int, error) {
	stored, err := b.plane.Stored(ctx)
	n := 0
	for _, v := range stored {
		if v == version {
			n++
		}
	}
	return n, err
}

// runUntil runs the command until at most left objects are stored as v1alpha1, and then kills it.
// It reports whether the command ended before that.
func (b *migrationBench) runUntil(ctx context.Context, left int, arguments ...string) (bool, error) {
	command := exec.CommandContext(ctx, b.program, append([]string{"migrate-storage"}, arguments...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+b.plane.Kubeconfig)
	out, err := os.OpenFile(filepath.Join(b.dir, "migrate.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	command.Stdout, command.Stderr = out, out
	if err := errors.Join(command.Start(), out.Close()); err != nil {
		return false, err
	}
	ended := make(chan struct{})
	var failure error
	go func() {
		defer close(ended)
		failure = command.Wait()
	}()
	for {
		select {
		case <-ended:
			if failure != nil {
				text, err := os.ReadFile(out.Name())
				return true, errors.Join(fmt.Errorf("migrate-storage: %w\n%s", failure, text), err)
			}
			return true, nil
		case <-time.After(migrationPoll):
		}
		now, err := b.storedAs(ctx, v1alpha1.GroupVersion.Version)
		if err == nil && now > left {
			continue
		}
		err = errors.Join(err, command.Process.Kill())
		// It was killed, so ignore its error.
		<-ended
		return false, err
	}
}
